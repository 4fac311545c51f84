/* phase.h - the phases of a run, and what a node is sent in each
 *
 * course/launch.c describes the phases. A phase waits for the answer of every node;
 * course/progress.h has what follows from the answers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PHASE_H
#define MUSTER_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;
struct node;
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

/* Only phase.c and progress.c change it. */
struct phase {
    enum phase_now now;
    bool          *awaits;     /* by node: this phase awaits its answer */
    size_t         awaited;    /* the number of these nodes */
    size_t         next;       /* the node to connect next */
    size_t         first_slow; /* all nodes before it have answered or failed */
    size_t         handshakes; /* in progress */
    bool           is_held;    /* a node has failed, but other nodes still owe an answer */
    bool          *shared;     /* by node: its ranks get no PID namespace (shared_machine.h);
                                  NULL: not determined */
    bool          *stayed;     /* by node: this generation is over there, and the agent stays */
    bool          *is_away;    /* by role: its ranks were stopped, and will start again */
    bool           is_last;    /* no other generation follows, whatever ended this one */
    size_t         over;       /* nodes that are ENDED or FAILED, and cleaned up */
    int64_t        go_ns;      /* when the ranks were started */
    int64_t        stop_ns;    /* when STOPPING began; 0: not in this generation */
};

void phase_begin(struct run *run);
void phase_clear(struct run *run);

/* Connects as many nodes as --fanout allows; their answers make room for the others. */
void phase_connect(struct run *run);

/* Does no rank run any more, because every node is over or stays for another generation? */
bool phase_is_over(const struct run *run);
/* Enter RESTARTING, for another generation; PREPARING: all nodes get PLAN; RUNNING: they get
 * GO. */
void phase_restart(struct run *run);
void phase_prepare(struct run *run);
void phase_run(struct run *run);
/* Send PLAN, and GO, to one node. */
void phase_prepare_node(struct run *run, struct node *node);
void phase_go(struct run *run, struct node *node);
/* Makes every node that stays leave: no other generation follows. */
void phase_leave(struct run *run);

/* While the others run, and in this order: stops the ranks of one role; sends its nodes PLAN;
 * sends them GO. */
void phase_stop_role(struct run *run, const struct plan *role);
void phase_prepare_role(struct run *run, const struct plan *role);
void phase_run_role(struct run *run, const struct plan *role);
/* Is the role of that node, or any role, between the first and the last of these? */
bool phase_is_away(const struct run *run, const struct node *node);
bool phase_any_away(const struct run *run);

/* Makes room for the nodes of a changed plan. */
void phase_make_room(struct run *run);
/* Counts a node as over. */
void phase_node_over(struct run *run);
/* Every node may be over: ends the run if no other generation may follow. */
void phase_maybe_end(struct run *run);

/* Makes a connection to that node, not yet started. phase_dial() is the callback
 * node_ops.dial. */
struct conn *phase_conn(struct run *run, struct node *node, double stage_s,
                        const struct conn_ops *ops, void *arg);
struct conn *phase_dial(struct node *node, const struct conn_ops *ops, void *ops_arg, void *arg);
/* Sends PLAN to a node without a place, so that it checks everything. plan has that node
 * only. */
void phase_check_node(struct run *run, struct node *node, const struct plan *plan);

/* Makes this phase wait until the node answers or fails. */
void phase_await(struct run *run, struct node *node);

/* Stops every node, since something ended the run. Only the first call does anything. */
void phase_stop(struct run *run);
/* The same, and no other generation may follow. */
void phase_stop_last(struct run *run);

/* Sends TERM now and KILL after grace_s on every node that has an agent, and drops the others.
 * May be called again with a shorter grace. */
void phase_stop_nodes(struct run *run, double grace_s);

#endif
