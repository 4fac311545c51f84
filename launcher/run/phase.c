/* phase.c - the phases of a run: see launch.c for the story
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/run.h"

#include <stdio.h>

#include "clock.h"
#include "log.h"
#include "plan/plan_encode.h"
#include "xalloc.h"
#include "xevent.h"

#define PROBE_CONNECT_MS 2000
#define PROBE_S          10.0 /* for the answer to a PROBE */
#define PREPARE_S        40.0 /* for READY; a venv script alone may take 20 s */
#define RECONNECT_STAGE_S   5.0  /* for each stage of a connection that is made again */

/* --reconnect=auto, by the time that the node's login took: the next one may take longer.
 * So long, too, does a node go on without a muster that was killed. */
#define LOGINS_WAITED 2.0
#define WINDOW_MIN_S  1.0
#define WINDOW_MAX_S  10.0

static const char *const phase_names[] = { "connecting", "listening", "reaching", "holding",
                                           "preparing", "running", "stopping" };

static struct conn *make_conn(struct run *run, struct node *node, double stage_s,
                              const struct conn_ops *ops, void *arg);
static void         leave(struct run *run, struct node *node);
static void         cleanup_over(struct node *node, int ended, int left, const char *text,
                               void *arg);
static void         handshake_ended(struct run *run);
static void         show_progress(struct run *run);
static void         settle(struct run *run, struct node *node);
static bool         any_failed(const struct run *run);
static void         enter_phase(struct run *run, enum phase phase);
static void         enter_listening(struct run *run);
static void         enter_reaching(struct run *run);
static void         enter_holding(struct run *run);
static int          choose_address(struct run *run);
static void         send_probe(struct run *run, struct node *node, json_t *body);
static void         enter_preparing(struct run *run);
static void         owe(struct run *run, struct node *node);
static void         prepare(struct run *run, struct node *node);
static double       window_s(const struct run *run, const struct node *node);
static double       between(double least_s, double s, double most_s);
static bool         is_forked(const struct run *run, const struct node *node);
static void         enter_running(struct run *run);
static void         go(struct run *run, struct node *node);

const char *run_phase_name(const struct run *run)
{
    return phase_names[run->phase];
}

/* A stage that hangs is begun afresh soon: the network may be back by now. But a login
 * that is slow each time has to come to its end. */
static struct conn *node_dial(struct node *node, const struct conn_ops *ops, void *ops_arg,
                              void *arg)
{
    struct run *run = arg;
    double      stage_s = between(RECONNECT_STAGE_S, LOGINS_WAITED * node->login_s,
                                  run->options->connect_timeout_s);

    return make_conn(run, node, stage_s, ops, ops_arg);
}

/* The window counts handshakes; an open connection gives its place back. */
void run_connect(struct run *run)
{
    while (run->phase != PHASE_STOPPING && run->next < run->plan->nodes &&
           run->handshakes < (size_t)run->options->fanout) {
        struct node *node = &run->node[run->next++];

        run->handshakes++;
        if (!run_is_exec(run))
            owe(run, node);
        node_connect(node, make_conn(run, node, run->options->connect_timeout_s, &node_conn_ops,
                                     node));
    }
}

static struct conn *make_conn(struct run *run, struct node *node, double stage_s,
                              const struct conn_ops *ops, void *arg)
{
    const struct plan_node *where = node->plan;
    struct conn_target      target = {
        .host = where->host,
        .addr = where->addr,
        .user = where->user,
        .port = where->port > 0 ? where->port : run->options->ssh_port,
        .ssh_config = run->options->ssh_config,
        .connect_timeout_s = stage_s,
    };

    if (is_forked(run, node))
        return conn_exec_new(run->base, &target, &run->agent, ops, arg);
    if (run->options->transport == TRANSPORT_OPENSSH)
        return conn_openssh_new(run->base, &target, &run->agent, ops, arg);
    return conn_ssh_new(run->base, &target, &run->agent, ops, arg);
}

static void node_changed(struct node *node, void *arg)
{
    struct run *run = arg;

    /* Between the phases agents are idle: the short way of these pings tells their
     * clocks well enough to say later which of two failures was first. */
    if (!run_is_exec(run) && node->state >= NODE_ANSWERED && node->state <= NODE_RUNNING)
        node_ping(node);
    switch (node->state) {
    case NODE_GREETING:
        handshake_ended(run);
        break;
    case NODE_ANSWERED:
        if (run->job != NULL && run->phase != PHASE_STOPPING)
            run->job->begin(run, node);
        else if (run_is_exec(run) && run->phase != PHASE_STOPPING)
            prepare(run, node);
        else
            settle(run, node);
        break;
    case NODE_PROBED:
        if (run->job != NULL)
            leave(run, node);
        settle(run, node);
        break;
    case NODE_READY:
        if (run_is_exec(run) && run->phase != PHASE_STOPPING)
            go(run, node);
        else
            settle(run, node);
        break;
    default: /* the other states owe nobody an answer */
        break;
    }
    show_progress(run);
}

/* Its errand is done. */
static void leave(struct run *run, struct node *node)
{
    node_expect(node, "its end", run->options->grace_s + STOP_SURE_S);
    node->stop_ns = clock_now_ns();
    node_send(node, FRAME_STOP, json_pack("{s:f}", "grace_s", 0.0));
}

static void node_stage(struct node *node, void *arg)
{
    (void)node;
    show_progress(arg);
}

/* A node that failed while it owed the phase an answer has thereby given it. */
static void node_over(struct node *node, void *arg)
{
    static const struct orphan_cleanup_ops orphan_cleanup_ops = { cleanup_over };
    struct run *run = arg;
    bool        was_handshake = node->state == NODE_FAILED && node->hello == NULL &&
                         node->heard_ns == 0;

    if (node->state == NODE_FAILED && node->lost_agent)
        run->cleanup[node->index] = orphan_cleanup_start(node, run->plan->run_id, &orphan_cleanup_ops, run);
    else
        run->over++;
    if (node->state == NODE_FAILED) {
        interrupt_slept(run); /* it may be our own fault */
        outcome_node_failed(&run->outcome, node->index, node->failure, clock_now_ns());
    }
    if (was_handshake)
        handshake_ended(run);
    if (run->over == run->plan->nodes)
        event_base_loopbreak(run->base);
    else if (node->failure != NULL && !run_is_exec(run) && run->phase == PHASE_RUNNING)
        run_end(run);
    else if (node->failure != NULL)
        settle(run, node);
}

/* The node counts as over from here on: not before what it had left is gone. */
static void cleanup_over(struct node *node, int ended, int left, const char *text, void *arg)
{
    struct run *run = arg;

    log_info("%s: %s", node->plan->host, text);
    outcome_node_cleaned(&run->outcome, node->index, ended, left, text);
    orphan_cleanup_free(run->cleanup[node->index]);
    run->cleanup[node->index] = NULL;
    if (++run->over == run->plan->nodes)
        event_base_loopbreak(run->base);
}

static void handshake_ended(struct run *run)
{
    run->handshakes--;
    run_connect(run);
    show_progress(run);
}

static void show_progress(struct run *run)
{
    size_t i, answered = 0;
    char   text[256];
    const struct node *slow = NULL;

    if (run->phase != PHASE_CONNECTING || run_is_exec(run))
        return;
    for (i = 0; i < run->plan->nodes; i++) {
        if (run->node[i].state >= NODE_ANSWERED)
            answered++;
        else if (slow == NULL)
            slow = &run->node[i];
    }
    if (slow == NULL)
        return;
    snprintf(text, sizeof text, "muster: connecting %zu/%zu (%s: %s)", answered,
             run->plan->nodes, slow->plan->host, slow->stage);
    output_progress(run->output, text);
}

/* A node has given its answer; after the last one the next phase begins. */
static void settle(struct run *run, struct node *node)
{
    if (!node->owes_answer)
        return;
    node->owes_answer = false;
    if (--run->unsettled > 0 || run->phase >= PHASE_RUNNING)
        return;
    if (run->phase == PHASE_CONNECTING)
        run_check_nodes(run);
    if (any_failed(run))
        run_end(run);
    else
        enter_phase(run, run->phase + 1);
}

static bool any_failed(const struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i].failure != NULL)
            return true;
    return false;
}

/* Only the first reason to end gets through. */
void run_end(struct run *run)
{
    if (run->phase == PHASE_STOPPING)
        return;
    enter_phase(run, PHASE_STOPPING);
    run->stop_ns = clock_now_ns();
    output_progress(run->output, NULL);
    run_stop_nodes(run, run->options->grace_s);
}

static void enter_phase(struct run *run, enum phase phase)
{
    if (phase == PHASE_LISTENING && run->options->no_ssh)
        phase = PHASE_PREPARING;
    if (phase == PHASE_LISTENING && (run->plan->nodes == 1 || run->plan->generation > 0))
        phase = PHASE_HOLDING; /* the address is known */
    log_info("%s -> %s", phase_names[run->phase], phase_names[phase]);
    run->phase = phase;
    switch (phase) {
    case PHASE_LISTENING:
        enter_listening(run);
        break;
    case PHASE_REACHING:
        enter_reaching(run);
        break;
    case PHASE_HOLDING:
        enter_holding(run);
        break;
    case PHASE_PREPARING:
        enter_preparing(run);
        break;
    case PHASE_RUNNING:
        enter_running(run);
        break;
    case PHASE_CONNECTING:
    case PHASE_STOPPING:
        break;
    }
}

static void enter_listening(struct run *run)
{
    struct error err;

    if (master_init(&run->master, run->plan, run->node[0].hello, &err) < 0) {
        outcome_cause(&run->outcome, EXIT_UNREACHABLE, "%s", err.text);
        run_end(run);
        return;
    }
    send_probe(run, &run->node[0], json_pack("{s:s, s:s}", "op", "listen", "token", run->token));
}

static void enter_reaching(struct run *run)
{
    size_t i;

    for (i = 1; i < run->plan->nodes; i++)
        send_probe(run, &run->node[i],
                   json_pack("{s:s, s:s, s:i, s:i, s:o}", "op", "connect", "token", run->token,
                             "port", run->probe_port, "timeout_ms", PROBE_CONNECT_MS,
                             "addresses", master_addresses(&run->master)));
}

static void enter_holding(struct run *run)
{
    const struct plan *plan = run->plan;

    if (plan->generation == 0 && choose_address(run) < 0) {
        run_end(run);
        return;
    }
    send_probe(run, &run->node[0],
               json_pack("{s:s, s:i, s:b}", "op", "port", "port",
                         plan->master_port > 0 ? plan->master_port
                                               : MASTER_PORT_DEFAULT + plan->generation,
                         "fixed", plan->master_port > 0));
}

/* Everybody has tried: take the address. With --master_addr it is the user's
 * all the same, and only the interfaces come from here. */
static int choose_address(struct run *run)
{
    struct error err;

    if (run->plan->nodes == 1) {
        if (run->plan->master_addr == NULL)
            run->plan->master_addr = xstrdup("127.0.0.1");
        return 0;
    }
    if (master_choose(&run->master, run->plan, &err) == 0)
        return 0;
    if (run->plan->master_addr != NULL) {
        log_warn("%s; going on with --master_addr %s", err.text, run->plan->master_addr);
        return 0;
    }
    outcome_cause(&run->outcome, EXIT_UNREACHABLE,
                  "%s; is a firewall between the nodes? --master_addr overrides", err.text);
    return -1;
}

static void send_probe(struct run *run, struct node *node, json_t *body)
{
    owe(run, node);
    node_enter(node, NODE_PROBING, PROBE_S);
    node_send(node, FRAME_PROBE, body);
}

/* Only our part of a run that is started by hand on each node: everybody must
 * come to the same address and port without asking. */
static void enter_preparing(struct run *run)
{
    size_t i;

    if (run->plan->master_addr == NULL)
        run->plan->master_addr = xstrdup("127.0.0.1");
    if (run->plan->master_port == 0)
        run->plan->master_port = MASTER_PORT_DEFAULT;
    log_info("MASTER_ADDR %s, MASTER_PORT %d", run->plan->master_addr, run->plan->master_port);
    for (i = 0; i < run->plan->nodes; i++)
        owe(run, &run->node[i]);
    for (i = 0; i < run->plan->nodes && run->phase == PHASE_PREPARING; i++)
        prepare(run, &run->node[i]);
}

/* This phase awaits an answer of that node. */
static void owe(struct run *run, struct node *node)
{
    node->owes_answer = true;
    run->unsettled++;
}

static void prepare(struct run *run, struct node *node)
{
    struct evbuffer   *frames = evbuffer_new();
    struct plan_terms terms = { .generation = node->generation, .credit = run->credit,
                                 .socket = node->key.socket, .token = node->key.token,
                                .window_s = window_s(run, node) };
    struct error       err;

    run->credit_left[node->index] = run->credit;
    if (!is_forked(run, node) && terms.window_s > 0)
        reconnect_key_make(&node->key, run->plan->run_id, node->plan->node_rank);
    if (plan_encode(run->plan, node->index, run->options, &terms, frames, &err) < 0) {
        node_fail(node, "plan", EXIT_USAGE, "pass large data in a file", "%s", err.text);
    } else {
        node_send_plan(node, frames);
        node_enter(node, NODE_PREPARING, PREPARE_S);
    }
    evbuffer_free(frames);
}

/* How long an agent whose connection broke waits for us. */
static double window_s(const struct run *run, const struct node *node)
{
    if (run->options->reconnect_s >= 0) /* not OPTION_AUTO */
        return run->options->reconnect_s;
    return between(WINDOW_MIN_S, LOGINS_WAITED * node->login_s, WINDOW_MAX_S);
}

/* s, but least_s at least, and never more than most_s. */
static double between(double least_s, double s, double most_s)
{
    s = s < least_s ? least_s : s;
    return s < most_s ? s : most_s;
}

/* By fork, without SSH? */
static bool is_forked(const struct run *run, const struct node *node)
{
    return node->plan->is_local || run->options->no_ssh;
}

static void enter_running(struct run *run)
{
    struct timeval limit = clock_interval(run->options->timeout_s);
    size_t         i;

    output_progress(run->output, NULL);
    if (!run_is_exec(run))
        run_check_clocks(run);
    if (run->options->timeout_s > 0 && !event_pending(run->time_limit, EV_TIMEOUT, NULL))
        xevent_add(run->time_limit, &limit);
    run->go_ns = clock_now_ns();
    for (i = 0; i < run->plan->nodes; i++)
        if (!node_is_over(&run->node[i]))
            go(run, &run->node[i]);
}

static void go(struct run *run, struct node *node)
{
    run->outcome.has_begun = true;
    node_send_empty(node, FRAME_GO);
    node_enter(node, NODE_RUNNING, 0);
}

/* TERM now and KILL after grace_s on every node that has an agent; the others
 * are dropped. Again with a shorter grace when the user insists. */
void run_stop_nodes(struct run *run, double grace_s)
{
    struct timeval limit = clock_interval(grace_s + STOP_SURE_S);
    size_t         i;

    xevent_add(run->stop_limit, &limit);
    for (i = 0; i < run->plan->nodes; i++) {
        struct node *node = &run->node[i];

        if (node_is_over(node) || node->state == NODE_DONE)
            continue;
        if (node_is_live(node) && node->state >= NODE_ANSWERED) {
            node->stop_ns = node->stop_ns != 0 ? node->stop_ns : clock_now_ns();
            node_send(node, FRAME_STOP, json_pack("{s:f}", "grace_s", grace_s));
            continue;
        }
        node_drop(node);
        run->over++;
    }
    if (run->over == run->plan->nodes)
        event_base_loopbreak(run->base);
}

const struct node_ops run_node_ops = {
    .changed = node_changed,
    .stage = node_stage,
    .frame = agent_frames_take,
    .over = node_over,
    .dial = node_dial,
};
