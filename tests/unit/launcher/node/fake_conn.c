/* fake_conn.c - see fake_conn.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_conn.h"

#include "clock.h"
#include "exit_code.h"
#include "node/draining.h"
#include "xalloc.h"

struct fake_conn fakes[FAKES_MAX];
size_t           fakes_made;

static void fake_start(struct conn *conn)
{
    ((struct fake_conn *)conn)->is_started = true;
}

static void fake_write(struct conn *conn, struct evbuffer *from)
{
    evbuffer_add_buffer(((struct fake_conn *)conn)->to_agent, from);
}

static size_t fake_unwritten(const struct conn *conn)
{
    (void)conn;
    return 0;
}

static bool fake_close_input(struct conn *conn)
{
    struct fake_conn *fake = (struct fake_conn *)conn;

    fake->input_is_closed = true;
    return fake->can_drain;
}

static void fake_free(struct conn *conn)
{
    struct fake_conn *fake = (struct fake_conn *)conn;

    assert_false(fake->is_freed);
    fake->is_freed = true;
}

struct fake_conn *fake_make(const struct conn_ops *ops, void *arg)
{
    static const struct conn_kind kind = {
        .start = fake_start,
        .write = fake_write,
        .unwritten = fake_unwritten,
        .close_input = fake_close_input,
        .free = fake_free,
    };
    struct fake_conn *fake = &fakes[fakes_made++];

    assert_true(fakes_made <= FAKES_MAX);
    *fake = (struct fake_conn){ .conn = { .kind = &kind, .ops = ops, .arg = arg },
                                .to_launcher = evbuffer_new(),
                                .to_agent = evbuffer_new() };
    return fake;
}

void fake_say(struct fake_conn *fake, enum frame_type type, json_t *body)
{
    frame_put_json(fake->to_launcher, type, 1, 0, body);
    fake->conn.ops->input(fake->to_launcher, fake->conn.arg);
}

void fake_say_u32(struct fake_conn *fake, enum frame_type type, uint32_t value)
{
    unsigned char body[4];
    struct frame  frame = { .type = type, .generation = 1, .body = body, .size = sizeof body };

    put_u32(body, value);
    frame_put(fake->to_launcher, &frame);
    fake->conn.ops->input(fake->to_launcher, fake->conn.arg);
}

void fake_close(struct fake_conn *fake, const char *text, bool is_cut)
{
    struct conn_failure why = { .stage = "running", .is_cut = is_cut, .exit_code = EXIT_LOST };

    if (text != NULL)
        snprintf(why.text, sizeof why.text, "%s", text);
    fake->conn.ops->closed(text != NULL ? &why : NULL, fake->conn.arg);
}

json_t *fake_expect(struct fake_conn *fake, enum frame_type type)
{
    struct frame frame;
    struct error err;
    json_t      *body;

    if (frame_peek(fake->to_agent, &frame, &err) != 1)
        fail_msg("no %s frame was sent", frame_name(type));
    if (frame.type != type)
        fail_msg("a %s frame was sent instead of %s", frame_name(frame.type), frame_name(type));
    body = frame.size > 0 && frame.body[0] == '{' ? frame_json(&frame, &err) : NULL;
    frame_drop(fake->to_agent, &frame);
    return body;
}

void fake_expect_none(struct fake_conn *fake)
{
    struct frame frame;
    struct error err;

    if (frame_peek(fake->to_agent, &frame, &err) == 1)
        fail_msg("a %s frame was sent", frame_name(frame.type));
}

/* ---- the node ---- */

static void ignore_node(struct node *node, void *arg)
{
    (void)node, (void)arg;
}

static void take_frame(struct node *node, const struct frame *frame, const json_t *body, void *arg)
{
    struct fake_node *f = arg;

    (void)node, (void)body;
    f->frames++;
    f->last_rank = frame->rank;
}

static void take_over(struct node *node, void *arg)
{
    (void)node;
    ((struct fake_node *)arg)->over++;
}

static struct conn *dial(struct node *node, const struct conn_ops *ops, void *ops_arg, void *arg)
{
    (void)node, (void)arg;
    return &fake_make(ops, ops_arg)->conn;
}

void fake_node_begin(struct fake_node *f)
{
    static const struct node_ops ops = { ignore_node, ignore_node, take_frame, take_over, dial };

    *f = (struct fake_node){ .base = event_base_new(),
                             .plan = { .host = (char *)"node1", .ranks = 1 } };
    fakes_made = 0;
    node_init(&f->node, 0, &f->plan, f->base, &ops, f);
    reconnect_make_key(f->node.reconnect, "r", 0);
    f->node.conn = &fake_make(&node_conn_ops, &f->node)->conn;
    f->node.hello = json_pack("{s:i, s:i}", "pid", 71, "start", 72);
    f->node.state = NODE_RUNNING;
    f->node.resend.keeps = true;
    liveness_heard(&f->node.liveness, clock_now_ns());
}

void fake_node_end(struct fake_node *f)
{
    size_t i;

    node_clear(&f->node);
    draining_await(f->base, 0);
    for (i = 0; i < fakes_made; i++) {
        assert_true(fakes[i].is_freed);
        evbuffer_free(fakes[i].to_launcher);
        evbuffer_free(fakes[i].to_agent);
    }
    event_base_free(f->base);
}

void fake_node_turn(struct fake_node *f, double seconds)
{
    struct timeval limit = clock_interval(seconds);

    event_base_loopexit(f->base, &limit);
    event_base_dispatch(f->base);
}
