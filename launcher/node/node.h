/* node.h - one node of the run, as the launcher sees it
 *
 * Owns the connection, keeps the deadline of the step the node is in (node.c) and
 * speaks doc/PROTOCOL on the connection (node_frames.c). What the frames mean for the
 * run is launch.c's business; it gets them through node_ops.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NODE_H
#define MUSTER_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>
#include <jansson.h>

#include "frame.h"
#include "node/reconnect.h"
#include "node/roundtrip.h"
#include "plan/plan.h"
#include "resend_queue.h"
#include "transport/conn.h"

/* What an agent that acknowledges or reads nothing can make us keep: more than any union of
 * PMI's keys. Before that, at the lower bound, its PINGs go without an answer. */
#define NODE_KEPT_MAX  (128u << 20)
#define NODE_KEPT_MUCH (1u << 20)

/* In order; a node only moves down, but for the turn PROBED -> PROBING.
 * NODE_FAILED can follow any but NODE_ENDED. */
enum node_state {
    NODE_WAITING,    /* for its place in the window of handshakes */
    NODE_CONNECTING, /* the stages of conn.h */
    NODE_GREETING,   /* stream is open, HELLO is awaited */
    NODE_ANSWERED,   /* HELLO is here */
    NODE_PROBING,    /* PROBE was sent, PROBED is awaited */
    NODE_PROBED,
    NODE_PREPARING,  /* PLAN was sent, READY is awaited */
    NODE_READY,
    NODE_RUNNING,    /* GO was sent */
    NODE_DONE,       /* the agent said that nothing is left */
    NODE_ENDED,      /* and has gone */
    NODE_FAILED,     /* failure says why */
};

struct node;

struct node_ops {
    /* The state changed (not for NODE_FAILED, NODE_ENDED: see over). */
    void (*changed)(struct node *node, void *arg);
    /* The transport's stage changed. */
    void (*stage)(struct node *node, void *arg);
    /* A frame for the run. body is borrowed, NULL for raw frames. */
    void (*frame)(struct node *node, const struct frame *frame, const json_t *body, void *arg);
    /* NODE_ENDED or NODE_FAILED was reached: nothing more will come. */
    void (*over)(struct node *node, void *arg);
    /* Make another connection to the same node, not yet started. */
    struct conn *(*dial)(struct node *node, const struct conn_ops *ops, void *ops_arg, void *arg);
};

struct node {
    size_t                  index; /* in the plan */
    const struct plan_node *plan;
    enum node_state         state;
    const char             *stage;   /* conn.h's word, while connecting */
    struct conn            *conn;    /* NULL also while it is cut */
    struct resend_queue           resend;
    struct reconnect_key       key;
    struct reconnect          *reconnect;  /* NULL: none is under way */
    int64_t                 cut_ns;  /* since when conn is cut; 0: it is not */
    char                    cut_why[1024]; /* as conn_failure has it */
    json_t                 *hello;   /* body of HELLO */
    char                   *containment; /* from READY */
    struct conn_failure    *failure; /* NODE_FAILED, or its agent cannot go on and ends all */
    int64_t                 dialled_ns; /* when the connection was begun */
    double                  login_s;    /* from then to HELLO */
    int64_t                 heard_ns;   /* when the last bytes came */
    uint32_t                resent;     /* by its conn's line at that time */
    struct roundtrips       trips;
    int64_t                 stop_ns;    /* when STOP was sent; 0: not */
    uint64_t                credit_due; /* bytes written, not yet given back as credit */
    int                     ranks_left; /* EXIT not yet seen */
    double                  idle_s;     /* by the last IDLE: its ranks have done nothing for so long */
    bool                    is_suspect;
    bool                    is_relayed; /* behind conn is a second agent */
    bool                    lost_agent; /* it ended with ranks, or does not answer, and its
                                           machine does */
    bool                    owes_answer; /* the run's phase waits for it */
    bool                    owes_stacks; /* it was asked where its ranks are */
    bool                    is_dumping;  /* it has said that core files are being written */

    uint32_t               generation;
    struct event_base     *base;
    struct event          *late;
    const char            *awaited; /* by node_expect(); NULL: what the state says */
    const struct node_ops *ops;
    void                  *arg;
};

void node_init(struct node *node, size_t index, const struct plan_node *plan,
               struct event_base *base, const struct node_ops *ops, void *arg);
void node_clear(struct node *node);

/* NODE_WAITING -> NODE_CONNECTING. The node takes conn over and starts it. */
void node_connect(struct node *node, struct conn *conn);
extern const struct conn_ops node_conn_ops; /* make conn with these, arg = node */

/* Move on; sets the deadline of the new state (0: none). */
void node_enter(struct node *node, enum node_state state, double deadline_s);
/* Another deadline for the state it is in, and what is to come by then. */
void node_expect(struct node *node, const char *awaited, double deadline_s);

/* The node is lost or broke the rules: end the connection, NODE_FAILED. */
void node_fail(struct node *node, const char *stage, int exit_code, const char *hint,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Its agent says that it cannot go on, and ends what runs there: that is a failure now,
 * but NODE_FAILED only once the agent is gone, or after deadline_s (0: never). */
void node_give_up(struct node *node, const struct conn_failure *why, double deadline_s);

/* It has been silent for long: make another connection beside the one there is, if
 * that can be. */
void node_try_reconnect(struct node *node);
/* Its agent does not answer: NODE_FAILED, with why; where it was cut, with why it cannot be
 * had back. */
void node_lose(struct node *node, const char *stage, const char *hint, const char *why);
/* reconnect.c: another connection takes the place of the one there was, if it is still there;
 * in is what has come on it already, and sent_again bytes come for a second time. */
void node_resume(struct node *node, struct conn *conn, uint64_t sent_again, struct evbuffer *in);

/* Its agent has said DONE, and does not go: it waits for our last ACK, or a file system does
 * not let it. Nothing else is left there: NODE_ENDED. */
void node_release(struct node *node);

/* Nothing was started on this node and nobody waits for it any more: end the
 * connection, NODE_ENDED, without callbacks. */
void node_drop(struct node *node);

/* True while frames can be sent to its agent. */
bool node_is_live(const struct node *node);
bool node_is_over(const struct node *node);
/* "running", for people. */
const char *node_state_name(const struct node *node);

/* A time of the agent's monotonic clock on ours. */
int64_t node_local_ns(const struct node *node, int64_t agent_ns);

/* ---- node_frames.c ---- */

/* Send a control frame; body is released. */
void node_send(struct node *node, enum frame_type type, json_t *body);
/* Send BLOBs and PLAN. What follows is kept until the agent has it, if node->key lets
 * us come back. */
void node_send_plan(struct node *node, struct evbuffer *frames);
void node_send_empty(struct node *node, enum frame_type type);
void node_send_raw(struct node *node, enum frame_type type, const void *body, size_t size);
void node_send_u32(struct node *node, enum frame_type type, uint32_t value);
void node_ping(struct node *node);

/* For node.c: a frame has come; say how much has come; send what had to wait. */
void node_take_frame(struct node *node, const struct frame *frame);
void node_send_ack(struct node *node);
void node_send_unsent(struct node *node);

#endif
