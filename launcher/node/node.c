/* node.c - see node.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exit_code.h"
#include "log.h"
#include "node/draining.h"
#include "xalloc.h"
#include "xevent.h"

/* HELLO follows the nonce at once, unless the machine is stuck. */
#define GREETING_S 10

static const char *const state_names[] = {
    [NODE_WAITING] = "waiting",     [NODE_CONNECTING] = "connecting",
    [NODE_GREETING] = "greeting",   [NODE_ANSWERED] = "answered",
    [NODE_PROBING] = "probing",     [NODE_PROBED] = "probed",
    [NODE_PREPARING] = "preparing", [NODE_READY] = "ready",
    [NODE_RUNNING] = "running",     [NODE_STAYING] = "staying",
    [NODE_DONE] = "done",           [NODE_ENDED] = "ended",
    [NODE_FAILED] = "failed",
};

static void late_cb(evutil_socket_t fd, short what, void *arg);
static void add_silence(const struct node *node, struct conn_failure *failure);
static void fail_with(struct node *node, const struct conn_failure *why);
static void conn_input(struct evbuffer *in, void *arg);
static const char *stage_of(const struct node *node);
static bool can_be_asked(const struct node *node);

void node_init(struct node *node, size_t index, const struct plan_node *plan,
               struct event_base *base, const struct node_ops *ops, void *arg)
{
    *node = (struct node){ .index = index, .plan = plan, .generation = 1, .base = base,
                           .ops = ops, .arg = arg };
    roundtrips_init(&node->trips);
    node->stage = "waiting";
    resend_queue_init(&node->resend);
    node->reconnect = reconnect_new(node);
    node->late = event_new(base, -1, 0, late_cb, node);
}

void node_clear(struct node *node)
{
    conn_free(node->conn);
    orphan_cleanup_end(node);
    reconnect_free(node->reconnect);
    resend_queue_clear(&node->resend);
    if (node->late != NULL)
        event_free(node->late);
    json_decref(node->hello);
    json_decref(node->login);
    free(node->failure);
    *node = (struct node){ 0 };
}

void node_place(struct node *node, size_t index, const struct plan_node *plan,
                const struct node_ops *ops)
{
    node->index = index;
    node->plan = plan;
    node->ops = ops;
}

void node_enter(struct node *node, enum node_state state, double deadline_s)
{
    struct timeval limit = clock_interval(deadline_s);

    log_info("%s: %s -> %s", node->plan->host, state_names[node->state], state_names[state]);
    node->state = state;
    node->awaited = NULL;
    if (state > NODE_STAYING)
        reconnect_stop(node->reconnect);
    event_del(node->late);
    if (deadline_s > 0)
        xevent_add(node->late, &limit);
    if (node_is_over(node))
        node->ops->over(node, node->arg);
    else
        node->ops->changed(node, node->arg);
}

void node_expect(struct node *node, const char *awaited, double deadline_s)
{
    struct timeval limit = clock_interval(deadline_s);

    node->awaited = awaited;
    xevent_add(node->late, &limit);
}

void node_stop(struct node *node, double grace_s)
{
    if (node->stop_ns == 0)
        node->stop_ns = clock_now_ns();
    node_send(node, FRAME_STOP, json_pack("{s:f}", "grace_s", grace_s));
}

void node_give_up(struct node *node, const struct conn_failure *why, double deadline_s)
{
    struct timeval limit = clock_interval(deadline_s);

    node->failure = xmemdup(why, sizeof *why);
    log_info("%s: %s: %s", node->plan->host, why->stage, why->text);
    if (deadline_s > 0)
        xevent_add(node->late, &limit);
}

void node_fail(struct node *node, const char *stage, int exit_code, const char *hint,
               const char *format, ...)
{
    struct conn_failure why = { .stage = stage, .exit_code = exit_code };
    va_list             ap;

    va_start(ap, format);
    vsnprintf(why.text, sizeof why.text, format, ap);
    va_end(ap);
    snprintf(why.hint, sizeof why.hint, "%s", hint != NULL ? hint : "");
    conn_free(node->conn);
    node->conn = NULL;
    fail_with(node, &why);
}

void node_stay(struct node *node)
{
    node->generation++;
    node->stop_ns = 0;
    node_enter(node, NODE_STAYING, 0);
}

void node_leave(struct node *node, double deadline_s)
{
    if (node->state != NODE_STAYING)
        node->generation++; /* its agent has said that it stays */
    node_send(node, FRAME_STOP, json_pack("{s:i}", "grace_s", 0));
    node_enter(node, NODE_DONE, deadline_s);
}

void node_release(struct node *node)
{
    conn_free(node->conn);
    node->conn = NULL;
    node_enter(node, NODE_ENDED, 0);
}

void node_drop(struct node *node)
{
    if (node->conn != NULL)
        draining_add(node->conn);
    node->conn = NULL;
    reconnect_stop(node->reconnect);
    node->state = NODE_ENDED;
    event_del(node->late);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct node *node = arg;
    const char  *awaited = node->awaited != NULL           ? node->awaited
                           : node->state == NODE_GREETING  ? "its greeting"
                           : node->state == NODE_PROBING   ? "its answer to a probe"
                           : node->state == NODE_PREPARING ? "its ready report"
                                                           : "its final report";

    (void)fd, (void)what;
    if (node->state == NODE_DONE) {
        node_release(node);
        return;
    }
    node->lost_agent = can_be_asked(node);
    node_fail(node, state_names[node->state], EXIT_WAITED, "is the node overloaded?",
              "muster-agent did not send %s in time", awaited);
}

const char *node_state_name(const struct node *node)
{
    return state_names[node->state];
}

bool node_takes_frames(const struct node *node)
{
    return (node->conn != NULL || reconnect_is_cut(node->reconnect)) &&
           node->state >= NODE_GREETING && node->state <= NODE_STAYING;
}

bool node_is_over(const struct node *node)
{
    return node->state >= NODE_ENDED;
}

int64_t node_local_ns(const struct node *node, int64_t agent_ns)
{
    return roundtrips_local_ns(&node->trips, agent_ns, clock_now_ns());
}

void node_connect(struct node *node, struct conn *conn)
{
    node->conn = conn;
    node->dialled_ns = clock_now_ns();
    node_enter(node, NODE_CONNECTING, 0); /* each stage of conn has its deadline */
    conn_start(conn);
}

static void conn_stage(const char *stage, void *arg)
{
    struct node *node = arg;

    log_debug("%s: %s", node->plan->host, stage);
    node->stage = stage;
    node->ops->stage(node, node->arg);
}

static void conn_open(void *arg)
{
    struct node *node = arg;

    liveness_heard(&node->liveness, clock_now_ns());
    node_enter(node, NODE_GREETING, GREETING_S);
}

static void conn_closed(const struct conn_failure *why, void *arg)
{
    struct node        *node = arg;
    struct conn_failure failure = { .stage = "running",
                                    .exit_code = EXIT_LOST,
                                    .text = "muster-agent exited before its work was done" };

    if (why != NULL)
        failure = *why; /* a copy: why is freed with the connection */
    if (strcmp(failure.stage, "running") == 0)
        failure.stage = stage_of(node);
    conn_free(node->conn);
    node->conn = NULL;
    if (node->state == NODE_DONE) {
        node_enter(node, NODE_ENDED, 0);
        return;
    }
    if (reconnect_instead(node->reconnect, &failure))
        return;
    node->lost_agent = node->state == NODE_RUNNING && !failure.is_cut;
    add_silence(node, &failure);
    fail_with(node, &failure);
}

/* A stopped agent is killed at the end of its lease. If the message said only that it was
 * killed, the user would look for the person who killed it. */
static void add_silence(const struct node *node, struct conn_failure *failure)
{
    size_t length = strlen(failure->text);

    if (node->liveness.is_suspect)
        snprintf(failure->text + length, sizeof failure->text - length,
                 " (nothing heard for %.0f s before)",
                 (double)(clock_now_ns() - node->liveness.heard_ns) / NS_PER_S);
}

static void fail_with(struct node *node, const struct conn_failure *why)
{
    if (node_is_over(node))
        return;
    if (node->failure == NULL) {
        node->failure = xmemdup(why, sizeof *why);
        log_info("%s: %s: %s", node->plan->host, why->stage, why->text);
    }
    node_enter(node, NODE_FAILED, 0);
}

const struct conn_ops node_conn_ops = {
    .stage = conn_stage,
    .open = conn_open,
    .input = conn_input,
    .closed = conn_closed,
};

void node_resume(struct node *node, struct conn *conn, struct evbuffer *in)
{
    conn_free(node->conn);
    node->conn = conn;
    conn_hand_over(conn, &node_conn_ops, node);
    liveness_renew(&node->liveness, clock_now_ns());
    node_send_unsent(node);
    conn_input(in, node); /* last: it may free conn, and in with it */
}

static void conn_input(struct evbuffer *in, void *arg)
{
    struct node *node = arg;
    struct frame frame;
    struct error err;
    int          got = 1;

    liveness_heard(&node->liveness, clock_now_ns());
    if (reconnect_has_asked(node->reconnect))
        return; /* the agent resends all of it after RESUMED */
    while (node->conn != NULL && (got = frame_peek(in, &frame, &err)) > 0) {
        if (frame.type != FRAME_HELLO)
            resend_queue_take(&node->resend, frame.size);
        node_take_frame(node, &frame);
        if (node->conn != NULL) /* otherwise in was freed with it */
            frame_drop(in, &frame);
    }
    if (got < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
    else if (resend_queue_owes_ack(&node->resend) || node->state == NODE_DONE)
        node_send_ack(node);
}

void node_lose(struct node *node, const char *stage, const char *hint, const char *why)
{
    node->lost_agent = can_be_asked(node);
    if (reconnect_is_cut(node->reconnect))
        node_fail(node, stage_of(node), EXIT_LOST, NULL, "%s; reconnecting: %s",
                  reconnect_cut_why(node->reconnect), reconnect_why(node->reconnect));
    else
        node_fail(node, stage, EXIT_LOST, hint, "%s", why);
}

/* The connection cannot name the stage: it does not know what its agent is doing. */
static const char *stage_of(const struct node *node)
{
    return node->state > NODE_CONNECTING && node->state <= NODE_STAYING ? state_names[node->state]
                                                                        : "running";
}

/* Can another agent look for what this one has left? Not if the last attempt to connect
 * failed. */
static bool can_be_asked(const struct node *node)
{
    return node->hello != NULL && reconnect_answers(node->reconnect);
}
