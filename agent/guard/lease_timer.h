/* lease_timer.h - kills this process when the lease is over, even if it is stopped
 *
 * A process that is stopped (SIGSTOP, a frozen control group, a debugger) cannot end its
 * ranks, and cannot exit. The kernel can kill it: the process's timer sends SIGKILL, which
 * also kills stopped processes. Process 1 of a PID namespace does not die of a signal that
 * it sends itself. There the timer belongs to the agent, and the kernel kills the
 * namespace with the agent.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LEASE_TIMER_H
#define MUSTER_AGENT_LEASE_TIMER_H

#include <stdbool.h>
#include <time.h>

/* Start from { 0 }. A child of fork() does not inherit the timer. */
struct lease_timer {
    bool    is_made;
    timer_t timer;
};

/* Unless it is set again within this many seconds (more than 0), this process gets SIGKILL.
 * Does nothing if the user may create no more timers. */
void lease_timer_set(struct lease_timer *timer, double seconds);

/* Cancels the timer. */
void lease_timer_clear(struct lease_timer *timer);

#endif
