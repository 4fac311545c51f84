/* fake_conn.h - connections to agents that are the test itself, and a node that uses them
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FAKE_CONN_H
#define MUSTER_FAKE_CONN_H

#include <stdbool.h>

#include <event2/buffer.h>
#include <jansson.h>

#include "frame.h"
#include "node/node.h"

#define FAKES_MAX 8

struct fake_conn {
    struct conn      conn; /* first, so that the two convert */
    bool             is_started, input_is_closed, is_freed;
    bool             can_drain; /* conn_close_input() succeeds */
    struct evbuffer *to_launcher, *to_agent;
};

/* All that were made since fake_node_begin(), in order. */
extern struct fake_conn fakes[FAKES_MAX];
extern size_t           fakes_made;

struct fake_conn *fake_make(const struct conn_ops *ops, void *arg);

/* The agent sends a frame; body is released. */
void fake_say(struct fake_conn *fake, enum frame_type type, json_t *body);
void fake_say_u32(struct fake_conn *fake, enum frame_type type, uint32_t value);
/* The connection ends; text NULL: in order. */
void fake_close(struct fake_conn *fake, const char *text, bool is_cut);
/* The next frame that the launcher has sent, which must be of that type: its body, or NULL for
 * a raw one. Caller releases. */
json_t *fake_expect(struct fake_conn *fake, enum frame_type type);
/* Nothing more was sent. */
void fake_expect_none(struct fake_conn *fake);

/* A node "node1" of run "r" that is NODE_RUNNING on the first fake and can reconnect. */
struct fake_node {
    struct event_base *base;
    struct plan_node   plan;
    struct node        node;
    size_t             over;      /* calls of node_ops.over */
    size_t             frames;    /* and of frame */
    uint32_t           last_rank; /* of the last frame */
};

void fake_node_begin(struct fake_node *f);
void fake_node_end(struct fake_node *f);
/* Let events happen for that long. */
void fake_node_turn(struct fake_node *f, double seconds);

#endif
