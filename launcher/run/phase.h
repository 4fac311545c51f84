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

/* In order. */
enum phase_now {
    PHASE_CONNECTING,
    PHASE_PREPARING,
    PHASE_RUNNING,
    PHASE_STOPPING,
};

/* Only phase.c writes it. It begins as 0 with each generation. */
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
    size_t         over;       /* nodes that are ENDED or FAILED, and cleaned up */
    int64_t        go_ns;      /* when the ranks were started */
    int64_t        stop_ns;    /* when STOPPING began */
};

extern const struct node_ops phase_node_ops; /* arg: the run */

void phase_begin(struct run *run);
void phase_clear(struct run *run);

/* Connect nodes as far as --fanout allows; the rest follows from their answers. */
void phase_connect(struct run *run);

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
