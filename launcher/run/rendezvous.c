/* rendezvous.c - see rendezvous.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/rendezvous.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "frame.h"
#include "log.h"
#include "node/body.h"
#include "rendezvous/master.h"
#include "rendezvous/master_name.h"
#include "run/run.h"
#include "transport/nonce.h"
#include "xalloc.h"

#define PROBE_CONNECT_MS 2000
#define LOAD_NODES_MAX   1024
#define PROBE_S          10.0 /* for the answer to a PROBE */
#define MASTER_PORTS     100  /* that generations use in turn */
#define REPEATS          5    /* ARP may fail for seconds if a neighbor table is full */

/* The answers that a node owes before GO. */
struct answer {
    bool is_owed;
    bool is_last; /* READY has come */
    bool of_name; /* it has not yet said whether --master_addr leads to node 0 */
    bool of_port; /* it has not yet said which MASTER_PORT it holds */
    bool of_horovod; /* nor at which port it serves the ranks of Horovod */
};

/* With roles, the nodes try to reach the first node of one role after the other. "Node 0" is that
 * node, below. */
struct rendezvous {
    size_t             role;
    struct master      master;
    struct master_name name;   /* --master_addr; without nodes: not given */
    struct answer *answer;     /* by node; NULL: no node was asked yet */
    bool          was_busy;    /* node 0 was being prepared when another tried to reach it */
    int           repeats;     /* how often the nodes have tried again */
    char          token[FRAME_NONCE_CHARS + 1];
    int           probe_port;  /* on which node 0 listens; 0: not yet */
    bool          is_chosen;   /* MASTER_ADDR is, for the nodes of this world */
    char         *port_holder; /* the process that took MASTER_PORT before rank 0; NULL: none */
    size_t        holder_node; /* where it is */
};

static struct plan *world_now(const struct run *run);
static bool is_first(const struct run *run, const struct node *node);
static void forget(struct rendezvous *rendezvous);
static void ask_first(struct run *run, struct node *node);
static void ask_ports(struct run *run, struct node *node);
static bool must_reach(const struct run *run);
static bool is_named(const struct run *run);
static void ask_to_reach(struct run *run, struct node *node);
static bool sends_load(const struct run *run);
static bool lacks_iface(struct node *node);
static bool owes(const struct run *run, const struct node *node);
static void has_given(struct run *run, struct node *node);
static bool has_all(const struct run *run, const struct node *node);
static int  choose_address(struct run *run);
static void caution(struct run *run);
static void caution_lossy(struct run *run);
static void give_up_apart(struct run *run, const char *why);
static bool take_error(struct node *node, const json_t *body);
static int  take_answer(struct run *run, struct node *node, const json_t *body,
                        struct error *err);
static int  take_port(struct run *run, struct node *node, const char *op, const json_t *body,
                      struct error *err);

struct rendezvous *rendezvous_new(void)
{
    struct rendezvous *rendezvous = xcalloc(1, sizeof *rendezvous);

    if (nonce_make(rendezvous->token) == 0)
        return rendezvous;
    free(rendezvous);
    return NULL;
}

void rendezvous_free(struct rendezvous *rendezvous)
{
    if (rendezvous == NULL)
        return;
    master_clear(&rendezvous->master);
    master_name_clear(&rendezvous->name);
    free(rendezvous->answer);
    free(rendezvous->port_holder);
    free(rendezvous);
}

/* GO contains the port, so PLAN need not wait for it. */
void rendezvous_again(struct run *run, const struct plan *world)
{
    struct rendezvous *rendezvous = run->rendezvous;
    size_t             i;

    free(rendezvous->port_holder);
    rendezvous->port_holder = NULL;
    for (i = world->first_node; i < world->first_node + world->nodes; i++) {
        rendezvous->answer[i] = (struct answer){ 0 };
        if (i != plan_world(run->plan, i)->first_node)
            continue;
        rendezvous->answer[i].is_owed = true;
        node_expect(run->node[i], "its answer to a probe", PROBE_S);
        ask_ports(run, run->node[i]);
    }
}

void rendezvous_anew(struct run *run)
{
    struct rendezvous *rendezvous = run->rendezvous;
    size_t             i;

    forget(rendezvous);
    free(rendezvous->answer);
    rendezvous->answer = xcalloc(run->plan->nodes, sizeof *rendezvous->answer);
    free(rendezvous->port_holder);
    rendezvous->port_holder = NULL;
    for (i = 0; i < run->plan->nodes; i++)
        rendezvous->answer[i] = (struct answer){ .is_owed = i == 0 || must_reach(run),
                                                 .of_name = is_named(run) };
    ask_first(run, run->node[0]);
}

/* Forgets what is known of one node 0, before another is asked. */
static void forget(struct rendezvous *rendezvous)
{
    master_clear(&rendezvous->master);
    master_name_clear(&rendezvous->name);
    rendezvous->probe_port = 0;
    rendezvous->was_busy = rendezvous->is_chosen = false;
    rendezvous->repeats = 0;
}

const char *rendezvous_token(const struct rendezvous *rendezvous)
{
    return rendezvous->token;
}

void rendezvous_take_holder(struct run *run, const struct node *node, const char *holder)
{
    struct rendezvous *rendezvous = run->rendezvous;

    if (node->index != plan_world(run->plan, node->index)->first_node || holder[0] == '\0' ||
        rendezvous->port_holder != NULL)
        return;
    rendezvous->port_holder = xstrdup(holder);
    rendezvous->holder_node = node->index;
}

const char *rendezvous_port_holder(const struct rendezvous *rendezvous, size_t *node)
{
    *node = rendezvous->holder_node;
    return rendezvous->port_holder;
}

/* ---- questions ---- */

static struct plan *world_now(const struct run *run)
{
    return plan_world_at(run->plan, run->rendezvous->role);
}

static bool is_first(const struct run *run, const struct node *node)
{
    return node->index == world_now(run)->first_node;
}

void rendezvous_ask(struct run *run, struct node *node)
{
    struct rendezvous *rendezvous = run->rendezvous;
    const struct node *first = run->node[world_now(run)->first_node];

    if ((run->options->no_ssh && !is_named(run)) || (node != first && !must_reach(run)))
        return;
    if (rendezvous->answer == NULL)
        rendezvous->answer = xcalloc(run->plan->nodes, sizeof *rendezvous->answer);
    rendezvous->answer[node->index] = (struct answer){ .is_owed = true,
                                                       .of_name = is_named(run) };
    if (node == first)
        ask_first(run, node);
    else if (first->failure == NULL && rendezvous->probe_port > 0)
        ask_to_reach(run, node);
}

/* Node 0 may not have answered in time while it was being prepared (a slow disk?). */
bool rendezvous_ask_again(struct run *run)
{
    struct rendezvous *rendezvous = run->rendezvous;
    size_t             i;

    if (!must_reach(run) || rendezvous->is_chosen ||
        (is_named(run) ? master_name_is_good(&rendezvous->name)
                       : master_found(&rendezvous->master) != NULL) ||
        (plan_is_first(run->plan) ? !rendezvous->was_busy || rendezvous->repeats > 0
                                  : rendezvous->repeats >= REPEATS))
        return false;
    rendezvous->repeats++;
    for (i = 0; i < run->plan->nodes; i++)
        if (is_named(run) || !is_first(run, run->node[i]))
            phase_await(run, run->node[i]);
    for (i = 0; i < run->plan->nodes; i++) {
        if (!is_named(run) && is_first(run, run->node[i]))
            continue;
        rendezvous->answer[i] = (struct answer){ .is_owed = true, .is_last = true,
                                                 .of_name = is_named(run) };
        node_expect(run->node[i], "its answer to a probe", PROBE_S);
        ask_to_reach(run, run->node[i]);
    }
    return true;
}

bool rendezvous_ask_next(struct run *run)
{
    struct rendezvous *rendezvous = run->rendezvous;
    size_t             i;

    if (rendezvous->role + 1 >= run->plan->roles)
        return false;
    forget(rendezvous);
    rendezvous->role++;
    for (i = 0; i < run->plan->nodes; i++) {
        phase_await(run, run->node[i]);
        rendezvous->answer[i] = (struct answer){ .is_owed = true, .is_last = true,
                                                 .of_name = is_named(run) };
        node_expect(run->node[i], "its answer to a probe", PROBE_S);
    }
    ask_first(run, run->node[world_now(run)->first_node]);
    return true;
}

bool rendezvous_take_ready(struct run *run, struct node *node)
{
    const struct node *first = run->node[world_now(run)->first_node];

    if (!owes(run, node) || (node != first && first->failure != NULL))
        return true;
    run->rendezvous->answer[node->index].is_last = true;
    return false;
}

void rendezvous_without(struct run *run, const struct node *node)
{
    struct answer *answer = run->rendezvous->answer;
    size_t         i;

    if (!is_first(run, node))
        return;
    for (i = 0; answer != NULL && i < run->plan->nodes; i++)
        if (i != node->index && answer[i].is_owed && answer[i].is_last &&
            run->node[i]->stop_ns == 0)
            has_given(run, run->node[i]);
}

/* Must other nodes reach node 0? If not, the address is known. */
static bool must_reach(const struct run *run)
{
    return run->plan->nodes > 1;
}

/* Must all nodes that this muster starts find node 0 by --master_addr? With --no_ssh only node 0
 * can tell, since it listens. */
static bool is_named(const struct run *run)
{
    return world_now(run)->options->master_addr != NULL &&
           (!run->options->no_ssh || run->plan->node[0].node_rank == 0);
}

static void ask_first(struct run *run, struct node *node)
{
    struct rendezvous *rendezvous = run->rendezvous;
    struct error       err;

    if (lacks_iface(node))
        return;
    if (must_reach(run) &&
        master_init(&rendezvous->master, run->plan, node->index, node->hello, &err) < 0) {
        node_fail(node, "probe", EXIT_UNREACHABLE, NULL, "%s", err.text);
        return;
    }
    if (is_named(run) && rendezvous->name.nodes == 0)
        master_name_init(&rendezvous->name, run->plan->nodes);
    if (node->state == NODE_STAYING || node->state == NODE_READY)
        node_expect(node, "its answer to a probe", PROBE_S);
    else
        node_enter(node, NODE_PROBING, PROBE_S);
    if (must_reach(run) || is_named(run))
        node_send(node, FRAME_PROBE,
                  json_pack("{s:s, s:s, s:b}", "op", "listen", "token", rendezvous->token, "load",
                            sends_load(run)));
    if (!run->options->no_ssh)
        ask_ports(run, node);
}

/* Node 0 sends full packets to each node from each of its addresses. */
static bool sends_load(const struct run *run)
{
    return run->plan->nodes <= LOAD_NODES_MAX;
}

/* With iface= in the hostfile, NCCL and Gloo get a name that they would not find. */
static bool lacks_iface(struct node *node)
{
    const json_t *entry, *addresses = json_object_get(node->hello, "addresses");
    size_t        i;

    if (node->plan->iface == NULL)
        return false;
    json_array_foreach(addresses, i, entry)
        if (strcmp(body_text(entry, "if"), node->plan->iface) == 0)
            return false;
    node_fail(node, "probe", EXIT_UNREACHABLE,
              "give the name that ip addr shows there, or leave iface= out",
              "interface %s, given by iface=, has no address", node->plan->iface);
    return true;
}

/* Each generation gets other ports, so that no old process can connect to them. */
static void ask_ports(struct run *run, struct node *node)
{
    const struct plan *world = plan_world(run->plan, node->index);
    int given = world->options->master_port, last = world->master_port;
    int next = last >= MASTER_PORT_DEFAULT && last + 1 < MASTER_PORT_DEFAULT + MASTER_PORTS
                   ? last + 1 : MASTER_PORT_DEFAULT;

    run->rendezvous->answer[node->index].of_port = true;
    run->rendezvous->answer[node->index].of_horovod = world->uses_horovod;
    if (world->uses_horovod)
        node_send(node, FRAME_PROBE, json_pack("{s:s}", "op", "horovod"));
    node_send(node, FRAME_PROBE,
              json_pack("{s:s, s:i, s:b}", "op", "port", "port", given > 0 ? given : next, "fixed",
                        given > 0));
}

/* Node 0 is asked only about --master_addr. */
static void ask_to_reach(struct run *run, struct node *node)
{
    const struct rendezvous *rendezvous = run->rendezvous;
    json_t *body = json_pack("{s:s, s:s, s:b, s:i, s:i, s:o}", "op", "connect", "token",
                             rendezvous->token, "load", sends_load(run), "port",
                             rendezvous->probe_port, "timeout_ms", PROBE_CONNECT_MS, "addresses",
                             !is_first(run, node) ? master_addresses(&rendezvous->master)
                                                  : json_array());

    if (!is_first(run, node) && lacks_iface(node)) {
        json_decref(body);
        return;
    }
    if (node->state == NODE_ANSWERED)
        node_enter(node, NODE_PROBING, PROBE_S);
    if (is_named(run))
        json_object_set_new(body, "name", json_string(world_now(run)->options->master_addr));
    node_send(node, FRAME_PROBE, body);
}

/* ---- answers ---- */

void rendezvous_take(struct run *run, struct node *node, const json_t *body)
{
    struct error err;

    if (node->stop_ns != 0)
        return; /* it crossed with our STOP */
    if (take_error(node, body))
        return;
    if (take_answer(run, node, body, &err) < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
    else if (has_all(run, node))
        has_given(run, node);
}

/* Has the node given every answer? */
static bool has_all(const struct run *run, const struct node *node)
{
    const struct rendezvous *rendezvous = run->rendezvous;
    const struct answer     *answer = &rendezvous->answer[node->index];

    if (answer->of_port || answer->of_horovod)
        return false;
    if (!is_first(run, node))
        return true;
    return !answer->of_name && (rendezvous->probe_port > 0 || !must_reach(run));
}

static bool owes(const struct run *run, const struct node *node)
{
    const struct answer *answer = run->rendezvous->answer;

    return answer != NULL && answer[node->index].is_owed;
}

/* The node has given its last answer, or will not be asked. */
static void has_given(struct run *run, struct node *node)
{
    struct answer *answer = &run->rendezvous->answer[node->index];

    answer->is_owed = false;
    if (run->phase.now == PHASE_PREPARING)
        run->rendezvous->was_busy = true;
    if (node->state == NODE_PROBING)
        node_enter(node, NODE_PROBED, 0);
    else if (node->state == NODE_STAYING)
        node_enter(node, NODE_STAYING, 0); /* clears the deadline of its answer */
    else if (answer->is_last)
        node_enter(node, NODE_READY, 0);
}

static bool take_error(struct node *node, const json_t *body)
{
    const char *why = body_text(body, "error"), *holder = body_text(body, "holder");
    bool        is_port = strcmp(body_text(body, "op"), "port") == 0;

    if (why[0] == '\0')
        return false;
    node_fail(node, is_port ? "master port" : "probe", EXIT_CREATE,
              is_port ? "without --master_port muster uses a free port" : "", "%s%s%s", why,
              holder[0] != '\0' ? ", held by " : "", holder);
    return true;
}

static int take_answer(struct run *run, struct node *node, const json_t *body,
                       struct error *err)
{
    struct rendezvous *rendezvous = run->rendezvous;
    struct answer     *answer = owes(run, node) ? &rendezvous->answer[node->index] : NULL;
    const char        *op = body_text(body, "op");
    bool               is_connect = strcmp(op, "connect") == 0;

    if (answer == NULL || (is_connect && is_first(run, node) && !answer->of_name) ||
        (!is_connect && !is_first(run, node) && !answer->of_port && !answer->of_horovod))
        return err_set(err, "PROBED frame: muster did not ask for it");
    if (!is_connect)
        return take_port(run, node, op, body, err);
    if (answer->of_name)
        master_name_take(&rendezvous->name, node->index, body);
    answer->of_name = false;
    return !is_first(run, node) ? master_answer(&rendezvous->master, node->index, body, err) : 0;
}

/* Handles an answer of a first node: it listens, holds MASTER_PORT, or will serve Horovod. */
static int take_port(struct run *run, struct node *node, const char *op, const json_t *body,
                     struct error *err)
{
    struct rendezvous *rendezvous = run->rendezvous;
    int                port = body_small_int(body, "port", 0, UINT16_MAX);
    size_t             i;

    if (port < 1)
        return err_set(err, "PROBED frame without a port");
    if (strcmp(op, "horovod") == 0) {
        log_info("%s: serves hvd.init() at port %d", node->plan->host, port);
        plan_world(run->plan, node->index)->horovod_port = port;
        rendezvous->answer[node->index].of_horovod = false;
    } else if (strcmp(op, "port") == 0) {
        plan_world(run->plan, node->index)->master_port = port;
        rendezvous->answer[node->index].of_port = false;
    } else if ((must_reach(run) || is_named(run)) && rendezvous->probe_port == 0) {
        rendezvous->probe_port = port;
        for (i = 0; i < run->plan->nodes; i++)
            if ((is_named(run) || !is_first(run, run->node[i])) && owes(run, run->node[i]) &&
                node_takes_frames(run->node[i]))
                ask_to_reach(run, run->node[i]);
    }
    return 0;
}

/* ---- the result ---- */

int rendezvous_choose(struct run *run)
{
    struct plan *world = world_now(run);
    size_t       first = run->rendezvous->is_chosen ? 0 : run->rendezvous->role, i;

    if (!run->options->no_ssh && !run->rendezvous->is_chosen && choose_address(run) < 0)
        return -1;
    run->rendezvous->is_chosen = true;
    caution(run);
    if (run->plan->command == COMMAND_CHECK && cautions_any(&run->outcome.cautions)) {
        outcome_cause(&run->outcome, EXIT_UNREACHABLE, "check failed before any rank was started:");
        return -1;
    }
    if (run->plan->command != COMMAND_CHECK) /* its report has all pairs */
        caution_lossy(run);
    if (world->master_addr == NULL)
        world->master_addr = xstrdup("127.0.0.1");
    if (world->master_port == 0)
        world->master_port = MASTER_PORT_DEFAULT;
    for (i = first; i < run->rendezvous->role; i++)
        rendezvous_serve(run, &run->plan->role[i]);
    rendezvous_serve(run, world);
    outcome_tell(&run->outcome);
    return 0;
}

void rendezvous_serve(struct run *run, const struct plan *world)
{
    struct node *first = run->node[world->first_node];

    if (!world->uses_horovod)
        return;
    if (strchr(world->master_addr, ':') != NULL)
        outcome_caution(&run->outcome, run->plan->node[first->index].host,
                        "MASTER_ADDR is %s, and Horovod's ranks find each other over IPv4 only; "
                        "give --master_addr an IPv4 address of that node", world->master_addr);
    else
        node_send(first, FRAME_PROBE,
                  json_pack("{s:s, s:s}", "op", "horovod", "address", world->master_addr));
}

/* All nodes have tried: takes the address. --master_addr is used even if not all nodes reached
 * it; then only the interfaces come from the answers. */
static int choose_address(struct run *run)
{
    struct error err;

    if (run->plan->nodes == 1 || master_choose(&run->rendezvous->master, run->plan, &err) == 0)
        return 0;
    if (is_named(run)) {
        log_info("%s", err.text);
        return 0;
    }
    if (run_goes_on(run) && !plan_is_first(run->plan))
        give_up_apart(run, err.text);
    else
        outcome_cause(
            &run->outcome, EXIT_UNREACHABLE,
            "%s; is there a firewall between the nodes? --master_addr overrides the choice",
            err.text);
    return -1;
}

/* Only the user can know that --master_addr is right even so: a firewall may let MASTER_PORT
 * through, but not the port on which node 0 has listened. */
static void caution(struct run *run)
{
    const struct rendezvous *rendezvous = run->rendezvous;
    size_t                   i;
    char                    *text;

    for (i = 0; i < rendezvous->name.nodes; i++) {
        text = master_name_fault(&rendezvous->name, i, run->plan, world_now(run)->first_node,
                                 master_found(&rendezvous->master));
        if (text != NULL)
            outcome_caution(&run->outcome, run->plan->node[i].host, "%s", text);
        free(text);
    }
}

static void caution_lossy(struct run *run)
{
    const struct rendezvous *rendezvous = run->rendezvous;
    const char              *first = run->plan->node[world_now(run)->first_node].host;
    bool                    *is_lossy = xcalloc(run->plan->nodes, sizeof *is_lossy);
    size_t                   i;

    master_lossy(&rendezvous->master, is_lossy);
    for (i = 0; i < rendezvous->master.nodes; i++)
        if (is_lossy[i])
            outcome_caution(&run->outcome, run->plan->node[i].host,
                            "large packets from %s at %s do not arrive, small ones do: ranks "
                            "connect, and then wait for ever; use the same MTU on the whole path: "
                            "ip link; ping -M do -s 1472 %s",
                            first, master_found(&rendezvous->master), first);
    free(is_lossy);
}

/* Gives up the nodes that the others cannot reach: other nodes may take their places. Of two
 * nodes, gives up the one that came later. */
static void give_up_apart(struct run *run, const char *why)
{
    struct conn_failure failure = { .stage = "probe", .exit_code = EXIT_UNREACHABLE };
    bool               *is_apart = xcalloc(run->plan->nodes, sizeof *is_apart);
    size_t              i;

    master_apart(&run->rendezvous->master, is_apart);
    if (run->plan->nodes == 2) {
        is_apart[0] = run->node[0]->generation < run->node[1]->generation;
        is_apart[1] = !is_apart[0];
    }
    snprintf(failure.text, sizeof failure.text, "%s", why);
    for (i = 0; i < run->plan->nodes; i++) {
        if (!is_apart[i])
            continue;
        node_give_up(run->node[i], &failure, 0); /* the deadline of all nodes applies */
        outcome_node_failed(&run->outcome, i, &failure, clock_now_ns());
    }
    free(is_apart);
}
