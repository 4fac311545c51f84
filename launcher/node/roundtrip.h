/* roundtrip.h - how long heartbeats take to a node and back, and how its clock differs
 *
 * A PONG brings back when its PING was sent, and the time on the agent's clock when it
 * was answered. Nothing here does I/O. All times are monotonic; each machine has its own.
 *
 * The offset comes from the shortest of the recent round trips: of all there ever were it
 * would be wrong after a day, since quartz clocks part by some seconds a day.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ROUNDTRIP_H
#define MUSTER_ROUNDTRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUNDTRIPS_KEPT 128 /* four minutes of heartbeats */

struct roundtrip {
    int64_t ns;
    int64_t offset_ns; /* our clock minus the agent's, by this one */
};

struct roundtrips {
    struct roundtrip recent[ROUNDTRIPS_KEPT]; /* a ring */
    size_t           count;                   /* of all there were */
    int64_t          most_ns;                 /* of all there were */
    int64_t          best_ns;   /* the shortest of the recent; INT64_MAX: none yet */
    int64_t          offset_ns; /* by that one */
    int              slow_count;
    int64_t          slow_until_ns;
    bool             is_slow;
};

void roundtrips_init(struct roundtrips *trips);

/* HELLO has come: a first guess of the offset, until the first PONG. */
void roundtrips_begin(struct roundtrips *trips, int64_t agent_ns, int64_t now_ns);

/* A PONG has come. -1: with times that cannot be. */
int roundtrips_take(struct roundtrips *trips, uint64_t sent_ns, uint64_t agent_ns, int64_t now_ns);

/* The recent ones: so many of a hundred did not take longer. 0 when there was none. */
int64_t roundtrips_percentile(const struct roundtrips *trips, int percent);

/* A time of the agent's clock on ours: whatever it claims, not in the future. */
int64_t roundtrips_local_ns(const struct roundtrips *trips, int64_t agent_ns, int64_t now_ns);

#endif
