/* node_frames.c - the frames between the launcher and one agent; see node.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/node.h"

#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "exit_code.h"
#include "log.h"
#include "xalloc.h"

static void   send_frame(struct node *node, enum frame_type type, uint32_t rank, const void *body,
                         size_t size);
static void   send_frames(struct node *node, struct evbuffer *frames);
static void   take_json(struct node *node, const struct frame *frame);
static bool   is_raw(enum frame_type type);
static void   handle_raw(struct node *node, const struct frame *frame);
static void   take_pong(struct node *node, const struct frame *frame);
static bool   is_raw_of_run(enum frame_type type);
static void   answer_ping(struct node *node, const struct frame *frame);
static size_t held_for(const struct node *node);
static void   take_hello(struct node *node, const json_t *body);
static void   take_ack(struct node *node, const struct frame *frame);

/* ---- sending ---- */

void node_send_unsent(struct node *node)
{
    struct evbuffer *out;

    if (node->conn == NULL)
        return;
    out = evbuffer_new();
    if (out == NULL)
        xalloc_die();
    resend_queue_send(&node->resend, out);
    conn_write(node->conn, out);
    evbuffer_free(out);
}

void node_send_plan(struct node *node, struct evbuffer *frames)
{
    send_frames(node, frames);
    node->resend.keeps = reconnect_key(node->reconnect)->socket[0] != '\0';
}

void node_send_ack(struct node *node)
{
    resend_queue_put_ack(&node->resend, node->generation);
    node_send_unsent(node);
}

void node_send_raw(struct node *node, enum frame_type type, const void *body, size_t size)
{
    send_frame(node, type, 0, body, size);
}

/* An agent knows one world, and numbers its ranks as that does. */
void node_send_to_rank(struct node *node, enum frame_type type, uint32_t rank, const void *body,
                       size_t size)
{
    send_frame(node, type, rank - (uint32_t)node->plan->first_rank, body, size);
}

static void send_frame(struct node *node, enum frame_type type, uint32_t rank, const void *body,
                       size_t size)
{
    struct evbuffer *out = evbuffer_new();
    struct frame     frame = {
        .type = type, .generation = node->generation, .rank = rank, .body = body, .size = size
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

/* Sends frames at once, or when there is a connection again. */
static void send_frames(struct node *node, struct evbuffer *frames)
{
    evbuffer_add_buffer(node->resend.bytes, frames);
    node_send_unsent(node);
}

void node_send_blob(struct node *node, uint32_t id, const void *bytes, size_t size)
{
    struct buffer body = { 0 };

    put_u32((unsigned char *)buffer_reserve(&body, 4), id);
    body.size += 4;
    buffer_add(&body, bytes, size);
    node_send_raw(node, FRAME_BLOB, body.bytes, body.size);
    buffer_clear(&body);
}

void node_send_empty(struct node *node, enum frame_type type)
{
    log_debug("%s: <- %s", node->plan->host, frame_name(type));
    node_send_raw(node, type, NULL, 0);
}

void node_send_u32(struct node *node, enum frame_type type, uint32_t value)
{
    unsigned char body[4];

    put_u32(body, value);
    node_send_raw(node, type, body, sizeof body);
}

void node_ping(struct node *node)
{
    const int64_t now_ns = clock_now_ns();
    unsigned char body[16];

    if (held_for(node) > NODE_HELD_MAX) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "the agent has not acknowledged %zu MiB",
                  held_for(node) >> 20);
        return;
    }
    if (node->conn == NULL)
        return;
    node_send_ack(node);
    put_u64(body, (uint64_t)now_ns);
    put_u64(body + 8, (uint64_t)(now_ns - node->liveness.heard_ns));
    node_send_raw(node, FRAME_PING, body, sizeof body);
}

/* ---- receiving ---- */

void node_take_frame(struct node *node, const struct frame *frame)
{
    struct frame of_run = *frame;

    of_run.rank += (uint32_t)node->plan->first_rank;
    if (is_raw(frame->type))
        handle_raw(node, &of_run);
    else
        take_json(node, &of_run);
}

static void take_json(struct node *node, const struct frame *frame)
{
    struct error err;
    json_t      *body;

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
                  frame_name(frame->type), node_state_name(node));
    else if (frame->generation == node->generation || node->state < NODE_PREPARING)
        node->ops->frame(node, frame, body, node->arg); /* PLAN sets its generation */
    json_decref(body);
}

static bool is_raw(enum frame_type type)
{
    return is_raw_of_run(type) || type == FRAME_PING || type == FRAME_PONG || type == FRAME_ACK;
}

static void handle_raw(struct node *node, const struct frame *frame)
{
    if (frame->type == FRAME_ACK)
        take_ack(node, frame);
    else if (frame->type == FRAME_PING && frame->size == 8)
        answer_ping(node, frame);
    else if (frame->type == FRAME_PONG && frame->size == 16)
        take_pong(node, frame);
    else if (is_raw_of_run(frame->type) && frame->generation == node->generation)
        node->ops->frame(node, frame, NULL, node->arg);
    else if (!is_raw_of_run(frame->type))
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s frame of %zu bytes",
                  frame_name(frame->type), frame->size);
}

/* Warns once about a slow node, which keeps running. */
static void take_pong(struct node *node, const struct frame *frame)
{
    bool was_slow = node->trips.is_slow;

    if (roundtrips_take(&node->trips, get_u64(frame->body), get_u64(frame->body + 8),
                        clock_now_ns()) < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "PONG frame with impossible times");
        return;
    }
    if (node->trips.is_slow && !was_slow)
        log_warn("%s: slow: heartbeat round trips of up to %.1f s (node, network or this machine "
                 "overloaded?)", node->plan->host,
                 (double)roundtrips_percentile(&node->trips, 99) / NS_PER_S);
}

/* Is it a raw frame for the run? */
static bool is_raw_of_run(enum frame_type type)
{
    return type == FRAME_OUTPUT || type == FRAME_WANTED || type == FRAME_CREDIT ||
           type == FRAME_NEED || type == FRAME_HAVE || type == FRAME_ENTRIES ||
           type == FRAME_SUMS || type == FRAME_FILE || type == FRAME_DATA || type == FRAME_SHARD ||
           type == FRAME_FINISH || type == FRAME_INPUT;
}

static void answer_ping(struct node *node, const struct frame *frame)
{
    unsigned char body[16];

    if (held_for(node) > NODE_HELD_MUCH)
        return; /* the agent hears from us anyway */
    memcpy(body, frame->body, 8);
    put_u64(body + 8, (uint64_t)clock_now_ns());
    node_send_raw(node, FRAME_PONG, body, sizeof body);
}

/* Bytes in our memory that the agent has not acknowledged, or not even read. */
static size_t held_for(const struct node *node)
{
    size_t queued = resend_queue_kept(&node->resend);
    size_t unwritten = node->conn != NULL ? conn_unwritten(node->conn) : 0;

    return queued > unwritten ? queued : unwritten;
}

static void take_hello(struct node *node, const json_t *body)
{
    json_int_t now_ns, protocol;
    int64_t    asked_ns = node->conn != NULL ? node->conn->asked_ns : 0;

    if (json_unpack((json_t *)body, "{s:I, s:I}", "protocol", &protocol, "now_ns", &now_ns) < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "HELLO lacks \"protocol\" or \"now_ns\"");
        return;
    }
    if (protocol != FRAME_PROTOCOL) {
        node_fail(node, "protocol", EXIT_PROTOCOL,
                  "are --agent and muster from the same build?",
                  "the agent speaks protocol %" JSON_INTEGER_FORMAT ", not %d", protocol,
                  FRAME_PROTOCOL);
        return;
    }
    if (now_ns < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "HELLO frame with an impossible time");
        return;
    }
    node->hello = json_incref((json_t *)body);
    node->login = node->conn != NULL ? json_incref((json_t *)node->conn->login) : NULL;
    node->noise = node->conn != NULL ? node->conn->noise : 0;
    node->login_s = (double)(clock_now_ns() - node->dialled_ns - asked_ns) / NS_PER_S;
    /* A guess until the first PONG: the agent sent HELLO a moment ago. */
    roundtrips_begin(&node->trips, now_ns, clock_now_ns());
    node_enter(node, NODE_ANSWERED, 0);
}

static void take_ack(struct node *node, const struct frame *frame)
{
    uint64_t     before = node->resend.begin;
    struct error err;

    if (resend_queue_take_ack(&node->resend, frame, &err) < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s", err.text);
    } else if (node->resend.begin != before && !reconnect_may_have_moved(node->reconnect)) {
        /* The old connection works in both directions. Bytes from the agent alone do not show
         * this: TCP may retransmit ours much later. */
        reconnect_stop(node->reconnect);
    }
}
