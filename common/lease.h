/* lease.h - the end of a lease, on which launcher and agents must agree
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LEASE_H
#define MUSTER_LEASE_H

/* The shortest lease that an agent and its guard hold each other to, in seconds: there is no
 * network between them, but the machine may be loaded. */
#define LEASE_LOCAL_S 5.0

/* Returns how many seconds before the end of a lease the ranks get TERM: 2, or a quarter of a
 * short lease. KILL comes at its end. */
static inline double lease_term_s(double lease_s)
{
    return lease_s / 4 < 2 ? lease_s / 4 : 2;
}

/* Returns after how many seconds the ranks are dead on a node of which the launcher hears no more:
 * its network is cut, or its agent and guard are stopped. They set the timer that kills them until
 * they stop, and that is less than heartbeat_s after the last heartbeat. Killed processes take a
 * moment to end. A node that is cut off first, and stopped when its lease is nearly over, may take
 * up to LEASE_LOCAL_S longer. */
static inline double lease_dead_s(double dead_after_s, double heartbeat_s)
{
    double stopped_s = heartbeat_s + LEASE_LOCAL_S, moment_s = 0.25;

    return (dead_after_s > stopped_s ? dead_after_s : stopped_s) + moment_s;
}

#endif
