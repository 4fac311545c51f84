/* node.h - one node of the run, as the launcher sees it
 *
 * A node owns its connection, keeps the deadline of the step it is in (node.c) and speaks
 * doc/PROTOCOL on the connection (node_frames.c). It does not know what the frames mean for the
 * run: the run gets them through node_ops.
 *
 * States, in order. A node only moves down, except from PROBED to PROBING and, for another
 * generation, from STAYING to PREPARING.
 *
 *   state        who moves the node there, and when
 *   WAITING      node_init(): it waits for its place among the handshakes
 *   CONNECTING   node_connect()
 *   GREETING     node.c: the stream is open, HELLO is pending
 *   ANSWERED     node_frames.c: HELLO has come
 *   PROBING      the run: a question was sent (PROBE, CLEAN, TREE, GIVE, TASK)
 *   PROBED       the run: the last answer has come
 *   PREPARING    the run: PLAN was sent, READY is pending
 *   READY        the run: READY and all other answers have come
 *   RUNNING      the run: GO was sent
 *   STAYING      node_stay(): the agent said DONE and waits for another generation
 *   DONE         the run: the agent said DONE, nothing of the run is left there; node_leave()
 *   ENDED        node.c: the connection closed after DONE; node_release(); node_drop()
 *   FAILED       node_fail(), node_lose(), or node.c: the connection closed too early
 *
 * The run moves a node with node_enter(). If a connection is lost while the node is PREPARING
 * to STAYING, reconnect.c makes another one, and the state stays the same.
 *
 * Verbs that end or delay something:
 *
 *   verb       use it when                                   state     connection  tells over()
 *   expect     a step of this state has its own deadline     same      stays       no
 *   stop       the run ends: send STOP                       same      stays       no
 *   give up    the agent sent ERROR and ends its ranks       same,     stays       once it is
 *                                                            failure               gone or late
 *   fail       it broke the rules, or a deadline passed      FAILED    is freed    yes
 *   lose       it is silent: fail, and perhaps clean up      FAILED    is freed    yes
 *   stay       it said DONE and waits for another generation STAYING   stays       no
 *   leave      it stays, and there is no other generation    DONE      stays       once it is
 *                                                                                  gone or late
 *   release    it said DONE but does not leave               ENDED     is freed    yes
 *   drop       nothing runs there, no one waits for it       ENDED     drains      no
 *   resume     reconnect.c has another connection            same      replaced    no
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NODE_H
#define MUSTER_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>
#include <jansson.h>

#include "frame.h"
#include "node/liveness.h"
#include "node/orphan_cleanup.h"
#include "node/reconnect.h"
#include "node/roundtrip.h"
#include "plan/plan.h"
#include "resend_queue.h"

/* How long the end of a run may take, beyond its grace: an agent reports 10 s after KILL which
 * processes survive, and its report must reach us. The reader of the output may take longer. */
#define NODE_STOP_S 15.0
#include "transport/conn.h"

/* The most bytes that muster keeps for an agent that acknowledges or reads nothing: more than
 * all PMI keys of a run. Above the lower bound, muster does not answer its PINGs. */
#define NODE_HELD_MAX  (128u << 20)
#define NODE_HELD_MUCH (1u << 20)

enum node_state {
    NODE_WAITING,
    NODE_CONNECTING,
    NODE_GREETING,
    NODE_ANSWERED,
    NODE_PROBING,
    NODE_PROBED,
    NODE_PREPARING,
    NODE_READY,
    NODE_RUNNING,
    NODE_STAYING,
    NODE_DONE,
    NODE_ENDED,
    NODE_FAILED, /* failure says why */
};

struct node;

struct node_ops {
    /* The state changed to one other than NODE_FAILED and NODE_ENDED. */
    void (*changed)(struct node *node, void *arg);
    /* The transport's stage changed. */
    void (*stage)(struct node *node, void *arg);
    /* A frame for the run. body is borrowed, NULL for raw frames. */
    void (*frame)(struct node *node, const struct frame *frame, const json_t *body, void *arg);
    /* The node is NODE_ENDED or NODE_FAILED: this is the last callback. */
    void (*over)(struct node *node, void *arg);
    /* Makes another connection to the same node, not yet started. */
    struct conn *(*dial)(struct node *node, const struct conn_ops *ops, void *ops_arg, void *arg);
};

struct node {
    /* set by node_init() and node_place() */
    size_t                  index; /* in the plan; a spare: in the pool */
    const struct plan_node *plan;
    const struct node_ops  *ops;
    struct event_base      *base;
    void                   *arg;

    /* node.c */
    enum node_state      state;
    uint32_t             generation; /* of the frames in both directions; the first is 1 */
    const char          *stage;      /* conn.h's word, while connecting */
    struct conn         *conn;       /* NULL also while the connection is lost */
    struct event        *late;       /* the deadline of the state */
    const char          *awaited;    /* set by node_expect(); NULL: what the state awaits */
    struct conn_failure *failure;    /* NULL: none, so far */
    int64_t              dialled_ns; /* when muster began to connect */
    int64_t              stop_ns;    /* when this generation first got STOP; 0: not yet */
    bool                 lost_agent; /* the machine answers, but its agent, which started ranks,
                                        does not */

    /* node_frames.c */
    json_t             *hello;   /* body of HELLO; NULL: it has not come */
    json_t             *login;   /* the same of the user who logged in, if sudo has made the agent
                                    root; else NULL */
    double              login_s; /* from dialled_ns to HELLO, without the user's part */
    size_t              noise;   /* bytes that the login shell printed before HELLO */
    struct resend_queue resend;
    struct roundtrips   trips;

    /* Only the file of that name writes each of these. */
    struct liveness        liveness;
    struct reconnect      *reconnect;
    struct orphan_cleanup *cleanup; /* NULL: none is under way */
};

void node_init(struct node *node, size_t index, const struct plan_node *plan,
               struct event_base *base, const struct node_ops *ops, void *arg);
void node_clear(struct node *node);
/* Gives the node another place: its index, its plan, and the ops that are called from now
 * on. */
void node_place(struct node *node, size_t index, const struct plan_node *plan,
                const struct node_ops *ops);

/* NODE_WAITING -> NODE_CONNECTING. The node takes over conn and starts it. */
void                         node_connect(struct node *node, struct conn *conn);
extern const struct conn_ops node_conn_ops; /* make conn with these, arg = node */

/* Enter a state, with this deadline (0: none). */
void node_enter(struct node *node, enum node_state state, double deadline_s);
/* Set another deadline in the same state, and name what must come by then. */
void node_expect(struct node *node, const char *awaited, double deadline_s);

/* Send STOP: the agent ends its ranks, with SIGKILL after grace_s. May be called again. */
void node_stop(struct node *node, double grace_s);

/* The node violated the protocol, or something failed there: free the connection,
 * NODE_FAILED. */
void node_fail(struct node *node, const char *stage, int exit_code, const char *hint,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The agent sent ERROR and ends what runs there. Record the failure now; the node becomes
 * NODE_FAILED once the agent is gone, or after deadline_s (0: never). */
void node_give_up(struct node *node, const struct conn_failure *why, double deadline_s);

/* The agent does not answer: NODE_FAILED. The failure is why; or, if the connection was lost,
 * the reason for that and why reconnecting failed. */
void node_lose(struct node *node, const char *stage, const char *hint, const char *why);
/* For reconnect.c: conn replaces the connection, if there is one. in: the bytes already
 * received on conn. */
void node_resume(struct node *node, struct conn *conn, struct evbuffer *in);

/* The agent said DONE and stays: NODE_STAYING. From now on all frames belong to the next
 * generation. */
void node_stay(struct node *node);
/* The agent said that it stays, but there is no other generation: make it leave within
 * deadline_s. */
void node_leave(struct node *node, double deadline_s);

/* The agent has said DONE but does not leave: it waits for our last ACK, or hangs in a file
 * system. Nothing else is left there: NODE_ENDED. */
void node_release(struct node *node);

/* Nothing was started on this node, and the run no longer waits for it: drain the connection,
 * NODE_ENDED, without callbacks. */
void node_drop(struct node *node);

/* Can frames be sent to its agent, now or after a reconnect? */
bool node_takes_frames(const struct node *node);
bool node_is_over(const struct node *node);
/* Returns the name of the state for the user, as "running". */
const char *node_state_name(const struct node *node);

/* Converts a time of the agent's monotonic clock to ours. */
int64_t node_local_ns(const struct node *node, int64_t agent_ns);

/* ---- node_frames.c ---- */

/* Send a control frame; body is released. */
void node_send(struct node *node, enum frame_type type, json_t *body);
/* Send BLOBs and PLAN. Keep later frames until the agent acknowledges them, if it can be
 * reconnected (reconnect.h). */
void node_send_plan(struct node *node, struct evbuffer *frames);
void node_send_empty(struct node *node, enum frame_type type);
/* Sends bytes that a later frame names by id: a path or others that JSON cannot hold. */
void node_send_blob(struct node *node, uint32_t id, const void *bytes, size_t size);
void node_send_raw(struct node *node, enum frame_type type, const void *body, size_t size);
void node_send_to_rank(struct node *node, enum frame_type type, uint32_t rank, const void *body,
                       size_t size);
void node_send_u32(struct node *node, enum frame_type type, uint32_t value);
void node_ping(struct node *node);

/* For node.c: handle a frame; acknowledge what has come; send the frames that are queued. */
void node_take_frame(struct node *node, const struct frame *frame);
void node_send_ack(struct node *node);
void node_send_unsent(struct node *node);

#endif
