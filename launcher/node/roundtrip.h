/* roundtrip.h - the round-trip times of a node's heartbeats, and the offset of its clock
 *
 * A PONG says when its PING was sent (by our clock) and answered (by the agent's clock).
 * Nothing here does I/O. All times are monotonic; each machine has its own.
 *
 * The offset comes from the shortest of the recent round trips, not from all: quartz clocks
 * drift apart by some seconds per day.
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
    int64_t offset_ns; /* our clock minus the agent's, by this round trip */
};

struct roundtrips {
    struct roundtrip recent[ROUNDTRIPS_RECENT]; /* a ring */
    size_t           count;                     /* of all round trips */
    int64_t          most_ns;                   /* of all round trips */
    int64_t          best_ns;   /* the shortest of the recent; INT64_MAX: none yet */
    int64_t          offset_ns; /* that of the shortest */
    int              slow_count;
    int64_t          slow_until_ns;
    bool             is_slow;
};

void roundtrips_init(struct roundtrips *trips);

/* Sets a first guess of the offset from HELLO, used until the first PONG. */
void roundtrips_begin(struct roundtrips *trips, int64_t agent_ns, int64_t now_ns);

/* Adds the times of a PONG. -1: they are impossible. */
int roundtrips_take(struct roundtrips *trips, uint64_t sent_ns, uint64_t agent_ns, int64_t now_ns);

/* Returns the time that percent % of the recent round trips did not exceed. 0: there was no
 * round trip. */
int64_t roundtrips_percentile(const struct roundtrips *trips, int percent);

/* Converts a time of the agent's clock to ours; never in the future, whatever the agent
 * claims. */
int64_t roundtrips_local_ns(const struct roundtrips *trips, int64_t agent_ns, int64_t now_ns);

#endif
