/* lease_timer.h - ends this process when the lease is over, though it is stopped
 *
 * A process that is stopped (SIGSTOP, a frozen control group, a debugger) cannot end its ranks,
 * nor itself. The kernel can: a timer of its own sends SIGKILL, which ends stopped processes, too.
 * Process 1 of a PID namespace does not die of a signal that it sends itself: there the timer is
 * the agent's, and the kernel ends the namespace with the agent.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LEASE_TIMER_H
#define MUSTER_AGENT_LEASE_TIMER_H

#include <stdbool.h>
#include <time.h>

/* Start from { 0 }. A child of fork() has none. */
struct lease_timer {
    bool    is_made;
    timer_t timer;
};

/* Unless it is set again within so many seconds (more than 0), this process gets SIGKILL. Nothing
 * happens if the user may have no more timers. */
void lease_timer_set(struct lease_timer *timer, double seconds);

/* It was set for nothing. */
void lease_timer_clear(struct lease_timer *timer);

#endif
