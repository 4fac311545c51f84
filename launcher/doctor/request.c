/* request.c - see request.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/request.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/run.h"
#include "xalloc.h"

#define PEERS_MAX     64 /* peers that one node connects to */
#define ADDRESSES_MAX 4  /* addresses per peer */
#define PATHS_MAX     32
#define PEERS_ROUND   1  /* each node connects to all others */
#define SPEED_ROUND   2  /* the first round in which each node sends to one other */
#define SPEED_ROUNDS  6  /* number of these rounds */
#define DATA          "/data" /* where muster bootstrap mounts the data disk */

static json_t *hosts_of(const struct run *run);
static json_t *interfaces_of(const struct plan_node *node);
static void    add_program(json_t *request, const struct run *run, const struct plan_node *node,
                           const struct program *program);
static json_t *paths_of(const struct program *program);
static json_t *addresses_of(const struct node *node);
static const char *address_reached(const json_t *lines, size_t node);

json_t *request_node(const struct run *run, const struct node *node, const struct program *program)
{
    const struct options *options = run->options;
    json_t *request = json_pack("{s:b, s:o, s:i, s:[s], s:o}", "full", options->check_full,
                                "hosts", hosts_of(run), "slots", node->plan->slots, "data", DATA,
                                "interfaces", interfaces_of(node->plan));

    if (options->log_dir != NULL)
        json_object_set_new(request, "log_dir", json_string(options->log_dir));
    if (node->index == 0 && options->master_port > 0)
        json_object_set_new(request, "master_port", json_integer(options->master_port));
    add_program(request, run, node->plan, program);
    return request;
}

json_t *request_skip(const struct run *run, size_t node, size_t first)
{
    static const char *const of_machine[] = { "names",      "machine",    "updates",
                                              "sshd",       "spot",       "gpu driver",
                                              "gpu errors", "kernel log", "cold disk" };
    const char              *own = run->plan->node[node].python;
    const char              *other = run->plan->node[first].python;
    json_t                  *list;
    size_t                   i;

    if (run->options->transport != TRANSPORT_EXEC || node == first)
        return NULL;
    list = json_array();
    for (i = 0; i < sizeof of_machine / sizeof *of_machine; i++)
        json_array_append_new(list, json_string(of_machine[i]));
    if (own == other || (own != NULL && other != NULL && strcmp(own, other) == 0)) {
        json_array_append_new(list, json_string("python"));
        json_array_append_new(list, json_string("cuda")); /* is asked in Python */
    }
    return list;
}

bool request_skips(const json_t *skip, const char *check)
{
    const json_t *item;
    size_t        i;

    json_array_foreach(skip, i, item)
        if (strcmp(json_string_value(item), check) == 0)
            return true;
    return false;
}

/* Returns the names in the hostfile, without those that are addresses. */
static json_t *hosts_of(const struct run *run)
{
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < run->plan->nodes; i++)
        if (strspn(run->plan->node[i].host, "0123456789.:[]") < strlen(run->plan->node[i].host))
            json_array_append_new(list, json_string(run->plan->node[i].host));
    return list;
}

static json_t *interfaces_of(const struct plan_node *node)
{
    static const char *const names[] = { "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",
                                         "TP_SOCKET_IFNAME", "NCCL_IB_HCA" };
    const char              *is_off = env_get(&node->env, "NCCL_IB_DISABLE");
    json_t                  *list = json_object();
    size_t                   i, count = sizeof names / sizeof *names;

    if (is_off != NULL && strcmp(is_off, "1") == 0)
        count--; /* without the last: NCCL looks for no InfiniBand */
    for (i = 0; i < count; i++)
        if (env_get(&node->env, names[i]) != NULL)
            json_object_set_new(list, names[i], json_string(env_get(&node->env, names[i])));
    return list;
}

static void add_program(json_t *request, const struct run *run, const struct plan_node *node,
                        const struct program *program)
{
    const char *cwd = node->cwd;
    char       *script = NULL;

    if (program->is_python && program->head.count > 0) {
        json_object_set_new(request, "python", json_string(node->python != NULL
                                                               ? node->python
                                                               : program->head.item[0]));
        json_object_set_new(request, "python_from",
                            json_string(node->python != NULL ? "python= of the hostfile"
                                                             : program->python_from));
    }
    if (run->options->script == NULL)
        return;
    if (cwd != NULL)
        json_object_set_new(request, "cwd", json_string(cwd));
    if (program->head.count > 0 && !run->options->module)
        script = program->head.item[program->head.count - 1];
    if (script != NULL && script[0] != '/' && cwd != NULL)
        script = xasprintf("%s/%s", cwd, strncmp(script, "./", 2) == 0 ? script + 2 : script);
    else if (script != NULL)
        script = xstrdup(script);
    if (script != NULL)
        json_object_set_new(request, "script", json_string(script));
    free(script);
    json_object_set_new(request, "paths", paths_of(program));
}

/* Returns the program's arguments that are paths which exist here: /data/x, or
 * --data=/data/x. */
static json_t *paths_of(const struct program *program)
{
    json_t     *list = json_array();
    const char *word;
    size_t      i;

    for (i = 0; i < program->args.count && json_array_size(list) < PATHS_MAX; i++) {
        word = program->args.item[i];
        if (word[0] == '-' && strchr(word, '=') != NULL)
            word = strchr(word, '=') + 1;
        if (word[0] == '/' && access(word, F_OK) == 0)
            json_array_append_new(list, json_string(word));
    }
    return list;
}

/* The peers are all other nodes, or the next PEERS_MAX in the hostfile. So as many nodes
 * connect to a node as it connects to. */
json_t *request_peers(const struct run *run, const struct node *node, const int *ports,
                      const char *token)
{
    json_t            *peers = json_array();
    const struct node *peer;
    size_t             step;

    for (step = 1; step < run->plan->nodes && json_array_size(peers) < PEERS_MAX; step++) {
        peer = run->node[(node->index + step) % run->plan->nodes];
        if (ports[peer->index] > 0 && !node_is_over(peer))
            json_array_append_new(peers,
                                  json_pack("{s:i, s:i, s:o}", "node", (int)peer->index, "port",
                                            ports[peer->index], "addresses", addresses_of(peer)));
    }
    if (json_array_size(peers) == 0) {
        json_decref(peers);
        return NULL;
    }
    return json_pack("{s:s, s:i, s:i, s:o}", "token", token, "node", (int)node->index, "port",
                     ports[node->index], "peers", peers);
}

/* Returns the addresses from HELLO, but a loopback address only if it comes first. */
static json_t *addresses_of(const struct node *node)
{
    const json_t *all = json_object_get(node->hello, "addresses"), *item;
    json_t       *list = json_array();
    size_t        i;

    json_array_foreach(all, i, item)
        if (json_array_size(list) < ADDRESSES_MAX &&
            json_is_string(json_object_get(item, "addr")) &&
            (!json_is_true(json_object_get(item, "loopback")) || json_array_size(list) == 0))
            json_array_append(list, json_object_get(item, "addr"));
    return list;
}

/* In a round all nodes send over the same distance in the hostfile, so that each node receives
 * from only one. */
json_t *request_speed(const struct run *run, const struct node *node, const int *ports,
                      const char *token, const struct node_task *task, int round)
{
    size_t      count = run->plan->nodes, most = count - 1 < PEERS_MAX ? count - 1 : PEERS_MAX;
    size_t      k = (size_t)(round - SPEED_ROUND), step, to, from;
    json_t     *request;
    const char *address;
    bool        is_called;

    if (count < 2 || k >= SPEED_ROUNDS)
        return NULL;
    step = 1 + (most <= SPEED_ROUNDS ? k % most : k * most / SPEED_ROUNDS);
    to = (node->index + step) % count;
    from = (node->index + count - step) % count;
    is_called = !node_is_over(run->node[from]) &&
                address_reached(node_task_lines(task, from, PEERS_ROUND), node->index) != NULL;
    request = json_pack("{s:b, s:s, s:i, s:i, s:b}", "full", true, "token", token, "node",
                        (int)node->index, "port", ports[node->index], "is_called", is_called);
    address = address_reached(node_task_lines(task, node->index, PEERS_ROUND), to);
    if (address != NULL && ports[to] > 0 && !node_is_over(run->node[to]))
        json_object_set_new(request, "peer",
                            json_pack("{s:i, s:s, s:i}", "node", (int)to, "address", address,
                                      "port", ports[to]));
    return request;
}

/* Finds the address by which the node with these lines reached node; NULL: it did not reach
 * it. */
static const char *address_reached(const json_t *lines, size_t node)
{
    const json_t *line, *item, *reached;
    size_t        i, k;

    json_array_foreach(lines, i, line) {
        reached = json_object_get(json_object_get(line, "value"), "reached");
        json_array_foreach(reached, k, item)
            if (json_integer_value(json_object_get(item, "node")) == (json_int_t)node)
                return json_string_value(json_object_get(item, "address"));
    }
    return NULL;
}
