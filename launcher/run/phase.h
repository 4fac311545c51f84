/* phase.h - the phases of a run, and what moves it from one to the next
 *
 * launch.c tells what happens in each. A phase waits for the answer of every node; when the
 * last one has come, the next phase begins, or STOPPING if a node failed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PHASE_H
#define MUSTER_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;
struct node;
struct node_ops;
struct conn;
struct conn_ops;
struct plan;

/* In order; RESTARTING leads back to PREPARING. */
enum phase_now {
    PHASE_CONNECTING,
    PHASE_PREPARING,
    PHASE_RUNNING,
    PHASE_STOPPING,
    PHASE_RESTARTING, /* no rank of the last generation is left, the next is about to begin */
};

/* Only phase.c writes it. */
struct phase {
    enum phase_now now;
    bool          *awaits;     /* by node: this phase awaits its answer */
    size_t         awaited;    /* how many those are */
    size_t         next;       /* the node to connect next */
    size_t         first_slow; /* all nodes before it have answered or failed */
    size_t         handshakes; /* under way */
    bool           is_held;    /* a node has failed; what others were asked is still awaited */
    bool          *shared;     /* by node: its ranks get no PID namespace (shared_machine.h);
                                  NULL: that was not asked */
    bool          *stayed;     /* by node: this generation is over there, and it stays */
    size_t         over;       /* nodes that are ENDED or FAILED, and cleaned up */
    int64_t        go_ns;      /* when the ranks were started */
    int64_t        stop_ns;    /* when STOPPING began; 0: not in this generation */
};

extern const struct node_ops phase_node_ops; /* arg: the run */

void phase_begin(struct run *run);
void phase_clear(struct run *run);

/* Connect nodes as far as --fanout allows; the rest follows from their answers. */
void phase_connect(struct run *run);

/* Nobody runs any more: every node is over or stays for another generation. */
bool phase_is_over(const struct run *run);
/* Another generation: RESTARTING, then PREPARING. */
void phase_restart(struct run *run);
void phase_prepare(struct run *run);
/* There is none: every node that stays leaves. */
void phase_leave(struct run *run);

/* The plan has other nodes now. */
void phase_make_room(struct run *run);
/* Every node may be over: if no other generation may follow, the run ends. */
void phase_maybe_end(struct run *run);

/* A connection to that node, not yet started; and the same as node_ops->dial. */
struct conn *phase_conn(struct run *run, struct node *node, double stage_s,
                        const struct conn_ops *ops, void *arg);
struct conn *phase_dial(struct node *node, const struct conn_ops *ops, void *ops_arg, void *arg);
/* Send PLAN to a node without a place, so that it checks everything: plan is of that node alone. */
void phase_check_node(struct run *run, struct node *node, const struct plan *plan);

/* This phase awaits an answer of that node: the node moves on, or fails. */
void phase_await(struct run *run, struct node *node);

/* Something ended the run: stop every node. Only the first call does anything. */
void phase_stop(struct run *run);

/* TERM now and KILL after grace_s on every node that has an agent; the others are dropped. May
 * come again with a shorter grace. */
void phase_stop_nodes(struct run *run, double grace_s);

/* The phase as the log has it. */
const char *phase_name(const struct run *run);

#endif
