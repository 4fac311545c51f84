/* stop.h - kills every process of the run: TERM, grace, KILL, until none is left
 *
 * A stop is a deadline and a loop: first CONT to all processes, and TERM to the ranks; when they
 * have ended, or at the last quarter of the grace, TERM to all others (term_order.h); from the
 * deadline on KILL, repeatedly, since a process may have been forked in between, until the owner of
 * the stop finds that none is left. The owner (the guard; the agent, if the guard was
 * killed) reaps and waits.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STOP_H
#define MUSTER_AGENT_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guard/containment.h"
#include "guard/term_order.h"

/* KILL cannot kill a process that waits in the kernel for a device. This long after the first
 * KILL, such a process is reported as left. */
#define STOP_STUCK_S 10
/* A process that writes its core file looks the same, but we wait for it this long. */
#define STOP_CORE_S 600

#define STOP_STUCK (-2)

struct stop {
    const struct containment *contain;
    pid_t                     root; /* the processes are below this one */
    bool                      begun;
    struct term_order         order;
    int64_t                   others_at_ns;     /* when those that come later get TERM; 0: all
                                                   have got it */
    int64_t                   kill_at_ns;       /* when TERM becomes KILL */
    int64_t                   killing_since_ns; /* 0: not yet */
    int64_t                   again_at_ns;
    int                       pause_ms;
    int dumping; /* processes that still write their core files long after KILL */
};

void stop_init(struct stop *stop, const struct containment *contain, pid_t root);
void stop_clear(struct stop *stop);

/* Begins a stop, or shortens the grace of a stop that has begun. 0: KILL now. ranks: their
 * processes; if there are none, all processes get TERM at once. */
void stop_begin(struct stop *stop, double grace_s, const pid_t *ranks, size_t count);

/* Sends the signals that are due. Returns the milliseconds until the next call; -1: not begun;
 * STOP_STUCK: a process survives KILL. */
int stop_step(struct stop *stop);

/* After STOP_STUCK: returns the number of remaining processes, at least one. /proc may not show
 * them, since a rank that is root can mount something over it. */
int stop_left(const struct stop *stop);

#endif
