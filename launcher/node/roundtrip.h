/* roundtrip.h - how long heartbeats take to a node and back, and how its clock differs
 *
 * A PONG says when its PING was sent, and when it was answered by the agent's clock. Nothing here
 * does I/O. All times are monotonic; each machine has its own.
 *
 * The offset comes from the shortest of the recent round trips, not of all: quartz clocks drift
 * apart by some seconds a day.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ROUNDTRIP_H
#define MUSTER_ROUNDTRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUNDTRIPS_RECENT 128 /* four minutes of heartbeats */

struct roundtrip {
    int64_t ns;
    int64_t offset_ns; /* our clock minus the agent's, by this one */
};

struct roundtrips {
    struct roundtrip recent[ROUNDTRIPS_RECENT]; /* a ring */
    size_t           count;                     /* of all there were */
    int64_t          most_ns;                   /* of all there were */
    int64_t          best_ns;   /* the shortest of the recent; INT64_MAX: none yet */
    int64_t          offset_ns; /* by that one */
    int              slow_count;
    int64_t          slow_until_ns;
    bool             is_slow;
};

void roundtrips_init(struct roundtrips *trips);

/* HELLO has come: a first guess of the offset, until the first PONG. */
void roundtrips_begin(struct roundtrips *trips, int64_t agent_ns, int64_t now_ns);

/* A PONG has come. -1: its times are impossible. */
int roundtrips_take(struct roundtrips *trips, uint64_t sent_ns, uint64_t agent_ns, int64_t now_ns);

/* Of the recent round trips, percent of a hundred did not take longer. 0: there was none. */
int64_t roundtrips_percentile(const struct roundtrips *trips, int percent);

/* A time of the agent's clock on ours; not in the future, whatever the agent claims. */
int64_t roundtrips_local_ns(const struct roundtrips *trips, int64_t agent_ns, int64_t now_ns);

#endif
