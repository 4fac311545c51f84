/* roundtrip.h - how long heartbeats take to a node and back, and how its clock differs
 *
 * A PONG brings back when its PING was sent, and the time on the agent's clock when it
 * was answered. Nothing here does I/O. All times are monotonic; each machine has its own.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ROUNDTRIP_H
#define MUSTER_ROUNDTRIP_H

#include <stdint.h>

struct roundtrips {
    int64_t best_ns;   /* the shortest; INT64_MAX: none yet */
    int64_t offset_ns; /* our clock minus the agent's */
};

void roundtrips_init(struct roundtrips *trips);

/* HELLO has come: a first guess of the offset, until the first PONG. */
void roundtrips_begin(struct roundtrips *trips, int64_t agent_ns, int64_t now_ns);

/* A PONG has come. -1: with times that cannot be. */
int roundtrips_take(struct roundtrips *trips, uint64_t sent_ns, uint64_t agent_ns, int64_t now_ns);

/* A time of the agent's clock on ours: whatever it claims, not in the future. */
int64_t roundtrips_local_ns(const struct roundtrips *trips, int64_t agent_ns, int64_t now_ns);

#endif
