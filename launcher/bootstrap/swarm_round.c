/* swarm_round.c - see swarm_round.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/swarm_round.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "bootstrap/node_address.h"
#include "log.h"
#include "run/run.h"
#include "transport/nonce.h"
#include "xalloc.h"

#define KEY_HEX 64
#define ADDRESSES_MAX 64

typedef char swarm_key[KEY_HEX + 1];

struct swarm_member {
    int group;  /* -1: it reads alone; -2: nothing to read */
    int number; /* in its group */
    int port;
};

struct swarm_groups {
    struct swarm_member *member; /* by node */
    int           *size;   /* by group */
    int            count;
    size_t         nodes;
    swarm_key     *key; /* asking node * nodes + answering node */
    char           run[FRAME_NONCE_CHARS + 1];
};

static struct swarm_groups *find_groups(const struct bootstrap *bootstrap,
                                        const struct run       *run);
static void                 place(const struct bootstrap *bootstrap, const struct run *run,
                                  struct swarm_groups *groups, size_t node);
static const json_t        *answer_of(const struct bootstrap *bootstrap, size_t node);
static bool                 make_keys(struct swarm_groups *groups);
static json_t *peers_of(const struct bootstrap *bootstrap, const struct run *run, size_t node);
static const char *address_of(const struct bootstrap *bootstrap, const struct run *run,
                              size_t node);
static json_t     *addresses_of(const struct run *run, size_t node);

bool swarm_is_wanted(const struct bootstrap *bootstrap, const struct run *run)
{
    const json_t *step;
    size_t        i;
    bool          has_warm = bootstrap->steps == NULL;

    json_array_foreach(bootstrap->steps, i, step) has_warm |=
        strcmp(json_string_value(step), "warm") == 0;
    return has_warm && run->options->warm == WARM_SWARM && !run->options->undo &&
           !run->options->record;
}

void swarm_look_request(const struct bootstrap *bootstrap, const struct run *run,
                        const struct node *node, json_t *body)
{
    const char *address = address_of(bootstrap, run, node->index);

    json_object_set_new(body, "op", json_string("swarm-look"));
    if (address != NULL)
        json_object_set_new(body, "address", json_string(address));
}

bool swarm_request(struct bootstrap *bootstrap, const struct run *run, const struct node *node,
                   json_t *body)
{
    const struct swarm_member *member;

    if (bootstrap->swarm == NULL)
        bootstrap->swarm = find_groups(bootstrap, run);
    member = &bootstrap->swarm->member[node->index];
    json_object_set_new(body, "op", json_string("swarm"));
    if (member->group >= 0 && bootstrap->swarm->size[member->group] > 1) {
        json_object_set_new(body, "number", json_integer(member->number));
        json_object_set_new(body, "count", json_integer(bootstrap->swarm->size[member->group]));
        json_object_set_new(body, "address",
                            json_string(address_of(bootstrap, run, node->index)));
        json_object_set_new(body, "port", json_integer(member->port));
        json_object_set_new(body, "run", json_string(bootstrap->swarm->run));
        json_object_set_new(body, "peers", peers_of(bootstrap, run, node->index));
    }
    return member->group >= -1;
}

void swarm_groups_free(struct swarm_groups *groups)
{
    if (groups == NULL)
        return;
    if (groups->key != NULL)
        OPENSSL_cleanse(groups->key, groups->nodes * groups->nodes * sizeof *groups->key);
    free(groups->key);
    free(groups->member);
    free(groups->size);
    free(groups);
}

/* --- groups ----------------------------------------------------------------- */

static struct swarm_groups *find_groups(const struct bootstrap *bootstrap,
                                        const struct run       *run)
{
    struct swarm_groups *groups = xcalloc(1, sizeof *groups);
    size_t               n;

    groups->nodes = run->plan->nodes;
    groups->member = xcalloc(groups->nodes, sizeof *groups->member);
    groups->size = xcalloc(groups->nodes, sizeof *groups->size);
    for (n = 0; n < groups->nodes; n++)
        place(bootstrap, run, groups, n);
    if (!make_keys(groups)) {
        log_warn("OpenSSL could not generate random numbers: every node reads alone");
        for (n = 0; n < groups->nodes; n++)
            groups->member[n].group =
                groups->member[n].group >= 0 ? -1 : groups->member[n].group;
    }
    return groups;
}

/* Puts node into the group of an earlier node with the same mark, or into a new group. */
static void place(const struct bootstrap *bootstrap, const struct run *run,
                  struct swarm_groups *groups, size_t node)
{
    const json_t  *answer = answer_of(bootstrap, node), *other;
    const char    *mark = json_string_value(json_object_get(answer, "mark"));
    json_int_t     port = json_integer_value(json_object_get(answer, "port"));
    struct swarm_member *member = &groups->member[node];
    size_t         n = node;

    member->group = -2;
    if (mark == NULL || node_is_over(run->node[node]) ||
        json_is_true(json_object_get(answer, "done")))
        return;
    member->group = -1;
    if (mark[0] == '\0' || port < 1 || port > 65535 || address_of(bootstrap, run, node) == NULL)
        return;
    member->port = (int)port;
    while (member->group < 0 && n-- > 0) {
        other = json_object_get(answer_of(bootstrap, n), "mark");
        if (groups->member[n].group >= 0 && strcmp(json_string_value(other), mark) == 0 &&
            groups->size[groups->member[n].group] < SWARM_NODES_MAX)
            member->group = groups->member[n].group;
    }
    if (member->group < 0)
        member->group = groups->count++;
    member->number = groups->size[member->group]++;
}

static const json_t *answer_of(const struct bootstrap *bootstrap, size_t node)
{
    const json_t *line, *swarm = NULL;
    size_t        i;

    json_array_foreach(node_task_lines(bootstrap->task, node, BOOTSTRAP_ROUND_SWARM_LOOK), i,
                       line) if (json_is_object(json_object_get(line, "swarm"))) swarm =
        json_object_get(line, "swarm");
    return swarm;
}

static bool make_keys(struct swarm_groups *groups)
{
    size_t i, j;

    groups->key = xcalloc(groups->nodes * groups->nodes, sizeof *groups->key);
    if (nonce_make(groups->run) < 0)
        return false;
    for (i = 0; i < groups->nodes; i++)
        for (j = 0; j < groups->nodes; j++) {
            char *key = groups->key[i * groups->nodes + j];

            if (groups->member[i].group >= 0 &&
                groups->member[i].group == groups->member[j].group &&
                (nonce_make(key) < 0 || nonce_make(key + KEY_HEX / 2) < 0))
                return false;
        }
    return true;
}

/* A link has the number of its key, counted from 1. */
static json_t *peers_of(const struct bootstrap *bootstrap, const struct run *run, size_t node)
{
    const struct swarm_groups *groups = bootstrap->swarm;
    json_t                    *peers = json_array();
    size_t                     n, ask, answer;

    for (n = 0; n < groups->nodes; n++) {
        if (n == node || groups->member[n].group != groups->member[node].group)
            continue;
        ask = node * groups->nodes + n;
        answer = n * groups->nodes + node;
        json_array_append_new(
            peers,
            json_pack("{s:i, s:s, s:s, s:i, s:o, s:s, s:I, s:s, s:I}", "number",
                      groups->member[n].number, "name", plan_label(&run->plan->node[n]), "address",
                      address_of(bootstrap, run, n), "port", groups->member[n].port, "addresses",
                      addresses_of(run, n), "ask", groups->key[ask], "ask_link",
                      (json_int_t)ask + 1, "answer", groups->key[answer], "answer_link",
                      (json_int_t)answer + 1));
    }
    return peers;
}

/* NULL: the node has no address that others could reach. */
static const char *address_of(const struct bootstrap *bootstrap, const struct run *run,
                              size_t node)
{
    const struct plan_node *plan = &run->plan->node[node];
    const char             *network = json_string_value(
                    json_object_get(json_object_get(bootstrap->conf, "hosts"), "network"));

    return node_address_choose(json_object_get(run->node[node]->hello, "addresses"),
                               plan->addr != NULL ? plan->addr : plan->host, network);
}

/* Returns all addresses of node: we do not know from which one it will connect. */
static json_t *addresses_of(const struct run *run, size_t node)
{
    const json_t *one;
    json_t       *addresses = json_array();
    size_t        i;

    json_array_foreach(json_object_get(run->node[node]->hello, "addresses"), i,
                       one) if (json_is_string(json_object_get(one, "addr")) &&
                                json_array_size(addresses) < ADDRESSES_MAX)
        json_array_append(addresses, json_object_get(one, "addr"));
    return addresses;
}
