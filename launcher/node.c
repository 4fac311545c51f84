/* node.c - see node.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "outcome.h"
#include "xalloc.h"
#include "xevent.h"

/* HELLO follows the nonce at once; only a stuck machine takes longer. */
#define GREETING_S 10

static const char *const state_names[] = {
    [NODE_WAITING] = "waiting",     [NODE_CONNECTING] = "connecting",
    [NODE_GREETING] = "greeting",   [NODE_ANSWERED] = "answered",
    [NODE_PROBING] = "probing",     [NODE_PROBED] = "probed",
    [NODE_PREPARING] = "preparing", [NODE_READY] = "ready",
    [NODE_RUNNING] = "running",     [NODE_DONE] = "done",
    [NODE_ENDED] = "ended",         [NODE_FAILED] = "failed",
};

static void handle_frame(struct node *node, const struct frame *frame);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static bool can_redial(const struct node *node);
static void send_frames(struct node *node, struct evbuffer *frames);
static void send_unsent(struct node *node);
static void send_ack(struct node *node);

void node_init(struct node *node, size_t index, const struct plan_node *plan,
               struct event_base *base, const struct node_ops *ops, void *arg)
{
    *node = (struct node){ .index = index, .plan = plan, .base = base, .ops = ops, .arg = arg };
    node->generation = 1;
    node->best_rtt_ns = INT64_MAX;
    node->ranks_left = plan->ranks;
    node->stage = "waiting";
    replay_init(&node->replay);
    node->late = event_new(base, -1, 0, late_cb, node);
}

void node_clear(struct node *node)
{
    if (node->conn != NULL)
        conn_free(node->conn);
    redial_free(node->redial);
    replay_clear(&node->replay);
    if (node->late != NULL)
        event_free(node->late);
    json_decref(node->hello);
    free(node->containment);
    free(node->failure);
    *node = (struct node){ 0 };
}

void node_enter(struct node *node, enum node_state state, double deadline_s)
{
    struct timeval limit = clock_interval(deadline_s);

    log_info("%s: %s -> %s", node->plan->host, state_names[node->state], state_names[state]);
    node->state = state;
    if (state > NODE_RUNNING) {
        redial_free(node->redial);
        node->redial = NULL;
    }
    event_del(node->late);
    if (deadline_s > 0)
        xevent_add(node->late, &limit);
    if (node_is_over(node))
        node->ops->over(node, node->arg);
    else
        node->ops->changed(node, node->arg);
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

void node_give_up(struct node *node, const struct conn_failure *why, double deadline_s)
{
    struct timeval limit = clock_interval(deadline_s);

    node->failure = xmemdup(why, sizeof *why);
    log_info("%s: %s: %s", node->plan->host, why->stage, why->text);
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
    if (node->conn != NULL)
        conn_free(node->conn);
    node->conn = NULL;
    fail_with(node, &why);
}

void node_drop(struct node *node)
{
    if (node->conn != NULL)
        conn_free(node->conn);
    node->conn = NULL;
    redial_free(node->redial);
    node->redial = NULL;
    node->state = NODE_ENDED;
    event_del(node->late);
}

/* What was awaited in each state, for the error. */
static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct node *node = arg;
    const char  *awaited = node->state == NODE_GREETING    ? "its greeting"
                           : node->state == NODE_PROBING   ? "the answer to a probe"
                           : node->state == NODE_PREPARING ? "word that it is ready"
                                                           : "its end";

    (void)fd;
    (void)what;
    if (node->state == NODE_DONE && node->replay.keeps) {
        /* Nothing is left there but an agent that waits for our last ACK. */
        conn_free(node->conn);
        node->conn = NULL;
        node_enter(node, NODE_ENDED, 0);
        return;
    }
    node_fail(node, state_names[node->state], EXIT_WAITED, "is the node overloaded?",
              "muster-agent did not send %s in time", awaited);
}

bool node_is_live(const struct node *node)
{
    return (node->conn != NULL || node->cut_ns != 0) && node->state >= NODE_GREETING &&
           node->state <= NODE_RUNNING;
}

bool node_is_over(const struct node *node)
{
    return node->state >= NODE_ENDED;
}

/* Whatever a node claims, nothing it tells of is still to come. */
int64_t node_local_ns(const struct node *node, int64_t agent_ns)
{
    int64_t now_ns = clock_now_ns(), local_ns;

    if (__builtin_add_overflow(agent_ns, node->clock_offset_ns, &local_ns) || local_ns > now_ns)
        return now_ns;
    return local_ns > 0 ? local_ns : 0;
}

void node_connect(struct node *node, struct conn *conn)
{
    node->conn = conn;
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

    node->heard_ns = clock_now_ns();
    node_enter(node, NODE_GREETING, GREETING_S);
}

static void conn_input(struct evbuffer *in, void *arg)
{
    struct node *node = arg;
    struct frame frame;
    struct error err;
    int          got = 1;

    node->heard_ns = clock_now_ns();
    while (node->conn != NULL && (got = frame_peek(in, &frame, &err)) > 0) {
        if (frame.type != FRAME_HELLO)
            replay_take(&node->replay, frame.size);
        handle_frame(node, &frame);
        if (node->conn != NULL) /* else in is gone with it */
            frame_drop(in, &frame);
    }
    if (got < 0)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
    else if (replay_owes_ack(&node->replay) || node->state == NODE_DONE)
        send_ack(node);
}

static void conn_closed(const struct conn_failure *why, void *arg)
{
    struct node        *node = arg;
    struct conn_failure failure = { .stage = "running", .exit_code = EXIT_LOST,
                                    .text = "muster-agent left before its work was done" };

    if (why != NULL)
        failure = *why; /* it goes with the connection */
    conn_free(node->conn);
    node->conn = NULL;
    if (node->state == NODE_DONE) {
        node_enter(node, NODE_ENDED, 0);
        return;
    }
    /* A second agent only mirrors the end of the first, or dies alone. */
    if (can_redial(node) && (failure.is_cut || node->is_relayed)) {
        node_cut(node, failure.text);
        redial_start(node);
        return;
    }
    fail_with(node, &failure);
}

const struct conn_ops node_conn_ops = {
    .stage = conn_stage,
    .open = conn_open,
    .input = conn_input,
    .closed = conn_closed,
};

/* ---- cut and made again ---- */

static bool can_redial(const struct node *node)
{
    return node->key.door[0] != '\0' && node->state == NODE_RUNNING;
}

void node_try_redial(struct node *node)
{
    if (can_redial(node))
        redial_start(node);
}

void node_cut(struct node *node, const char *why)
{
    if (node->cut_ns != 0)
        return;
    if (node->conn != NULL)
        conn_free(node->conn);
    node->conn = NULL;
    node->cut_ns = clock_now_ns();
    snprintf(node->cut_why, sizeof node->cut_why, "%s", why);
    log_warn("%s: connection lost, reconnecting (%s)", node->plan->host, why);
}

void node_resume(struct node *node, struct conn *conn, uint64_t sent_again, struct evbuffer *in)
{
    redial_free(node->redial);
    node->redial = NULL;
    node->conn = conn;
    conn_hand_over(conn, &node_conn_ops, node);
    log_warn("%s: reconnected after %.1f s, %" PRIu64 " bytes sent again", node->plan->host,
             (double)(clock_now_ns() - node->cut_ns) / NS_PER_S, sent_again);
    node->cut_ns = 0;
    node->heard_ns = clock_now_ns();
    node->is_suspect = false;
    node->is_relayed = true;
    send_unsent(node);
    conn_input(in, node); /* last: it may free conn, and in with it */
}

void node_lose(struct node *node)
{
    node_fail(node, "running", EXIT_LOST, NULL, "%s; reconnecting: %s", node->cut_why,
              redial_why(node->redial));
}

/* ---- sending ---- */

static void send_unsent(struct node *node)
{
    struct evbuffer *out;

    if (node->conn == NULL)
        return;
    out = evbuffer_new();
    if (out == NULL)
        xalloc_die();
    replay_send(&node->replay, out);
    conn_write(node->conn, out);
    evbuffer_free(out);
}

void node_send_plan(struct node *node, struct evbuffer *frames)
{
    send_frames(node, frames);
    node->replay.keeps = node->key.door[0] != '\0';
}

/* Kept while there is no connection, or sent at once. */
static void send_frames(struct node *node, struct evbuffer *frames)
{
    evbuffer_add_buffer(node->replay.bytes, frames);
    send_unsent(node);
}

static void send_ack(struct node *node)
{
    replay_put_ack(&node->replay, node->generation);
    send_unsent(node);
}


static void send_raw(struct node *node, enum frame_type type, const unsigned char *body, size_t size)
{
    struct evbuffer *out = evbuffer_new();
    struct frame     frame = {
        .type = type, .generation = node->generation, .body = body, .size = size
    };

    frame_put(out, &frame);
    send_frames(node, out);
    evbuffer_free(out);
}

void node_send(struct node *node, enum frame_type type, json_t *body)
{
    struct evbuffer *out = evbuffer_new();

    log_debug("%s: <- %s", node->plan->host, frame_name(type));
    frame_put_json(out, type, node->generation, 0, body);
    send_frames(node, out);
    evbuffer_free(out);
}

void node_send_empty(struct node *node, enum frame_type type)
{
    log_debug("%s: <- %s", node->plan->host, frame_name(type));
    send_raw(node, type, NULL, 0);
}

void node_send_u32(struct node *node, enum frame_type type, uint32_t value)
{
    unsigned char body[4];

    put_u32(body, value);
    send_raw(node, type, body, sizeof body);
}

void node_ping(struct node *node)
{
    unsigned char body[8];

    if (replay_kept(&node->replay) > NODE_KEPT_MAX) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "the agent has not acknowledged %zu MiB",
                  replay_kept(&node->replay) >> 20);
        return;
    }
    if (node->conn == NULL)
        return;
    send_ack(node);
    put_u64(body, (uint64_t)clock_now_ns());
    send_raw(node, FRAME_PING, body, sizeof body);
}

/* Cristian's rule: the agent read its clock half a round trip ago, and the
 * shortest round trip seen bounds the error best. */
static void take_clock(struct node *node, const struct frame *frame)
{
    uint64_t sent_ns = get_u64(frame->body), agent_ns = get_u64(frame->body + 8);
    int64_t  now_ns = clock_now_ns(), rtt_ns;

    if (sent_ns > (uint64_t)now_ns || agent_ns > INT64_MAX) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "PONG frame with times that cannot be");
        return;
    }
    rtt_ns = now_ns - (int64_t)sent_ns;
    if (rtt_ns >= node->best_rtt_ns)
        return;
    node->best_rtt_ns = rtt_ns;
    node->clock_offset_ns = (int64_t)sent_ns + rtt_ns / 2 - (int64_t)agent_ns;
}

static void answer_ping(struct node *node, const struct frame *frame)
{
    unsigned char body[16];

    if (replay_kept(&node->replay) > NODE_KEPT_MUCH)
        return; /* it hears from us all the same */
    memcpy(body, frame->body, 8);
    put_u64(body + 8, (uint64_t)clock_now_ns());
    send_raw(node, FRAME_PONG, body, sizeof body);
}

static void take_hello(struct node *node, const json_t *body)
{
    json_int_t now_ns, protocol;

    if (json_unpack((json_t *)body, "{s:I, s:I}", "protocol", &protocol, "now_ns", &now_ns) < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "HELLO lacks \"protocol\" or \"now_ns\"");
        return;
    }
    if (protocol != FRAME_PROTOCOL) {
        node_fail(node, "protocol", EXIT_PROTOCOL, "do --agent and muster come from one build?",
                  "the agent speaks protocol %" JSON_INTEGER_FORMAT ", not %d", protocol,
                  FRAME_PROTOCOL);
        return;
    }
    if (now_ns < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "HELLO frame with a time that cannot be");
        return;
    }
    node->hello = json_incref((json_t *)body);
    /* Until the first PONG: the greeting was sent a moment ago. */
    node->clock_offset_ns = clock_now_ns() - now_ns;
    node_enter(node, NODE_ANSWERED, 0);
}

static void take_ack(struct node *node, const struct frame *frame)
{
    uint64_t     before = node->replay.begin;
    struct error err;

    if (replay_take_ack(&node->replay, frame, &err) < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
    } else if (node->replay.begin != before) {
        /* The old connection is alive, in both directions: what we send may wait much
         * longer for TCP to try again than what comes. */
        redial_free(node->redial);
        node->redial = NULL;
    }
}

static bool is_raw(enum frame_type type)
{
    return type == FRAME_OUTPUT || type == FRAME_PING || type == FRAME_PONG || type == FRAME_ACK;
}

static void handle_raw(struct node *node, const struct frame *frame)
{
    if (frame->type == FRAME_ACK)
        take_ack(node, frame);
    else if (frame->type == FRAME_PING && frame->size == 8)
        answer_ping(node, frame);
    else if (frame->type == FRAME_PONG && frame->size == 16)
        take_clock(node, frame);
    else if (frame->type == FRAME_OUTPUT && frame->generation == node->generation)
        node->ops->frame(node, frame, NULL, node->arg);
    else if (frame->type != FRAME_OUTPUT)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s frame of %zu bytes",
                  frame_name(frame->type), frame->size);
}

static void handle_frame(struct node *node, const struct frame *frame)
{
    struct error err;
    json_t      *body;

    if (is_raw(frame->type)) {
        handle_raw(node, frame);
        return;
    }
    log_debug("%s: -> %s (%zu bytes)", node->plan->host, frame_name(frame->type), frame->size);
    body = frame_json(frame, &err);
    if (body == NULL) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
        return;
    }
    if (frame->type == FRAME_HELLO && node->state == NODE_GREETING)
        take_hello(node, body);
    else if (frame->type == FRAME_HELLO || node->state < NODE_ANSWERED)
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s frame while %s",
                  frame_name(frame->type), state_names[node->state]);
    else if (frame->generation == node->generation || node->state < NODE_PREPARING)
        node->ops->frame(node, frame, body, node->arg); /* PLAN tells the agent its generation */
    json_decref(body);
}
