/* roundtrip.c - see roundtrip.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "roundtrip.h"

void roundtrips_init(struct roundtrips *trips)
{
    *trips = (struct roundtrips){ .best_ns = INT64_MAX };
}

void roundtrips_begin(struct roundtrips *trips, int64_t agent_ns, int64_t now_ns)
{
    trips->offset_ns = now_ns - agent_ns;
}

/* Cristian's rule: the agent read its clock half a round trip ago, and the
 * shortest round trip seen bounds the error best. */
int roundtrips_take(struct roundtrips *trips, uint64_t sent_ns, uint64_t agent_ns, int64_t now_ns)
{
    int64_t trip_ns;

    if (sent_ns > (uint64_t)now_ns || agent_ns > INT64_MAX)
        return -1;
    trip_ns = now_ns - (int64_t)sent_ns;
    if (trip_ns < trips->best_ns) {
        trips->best_ns = trip_ns;
        trips->offset_ns = (int64_t)sent_ns + trip_ns / 2 - (int64_t)agent_ns;
    }
    return 0;
}

int64_t roundtrips_local_ns(const struct roundtrips *trips, int64_t agent_ns, int64_t now_ns)
{
    int64_t local_ns;

    if (__builtin_add_overflow(agent_ns, trips->offset_ns, &local_ns) || local_ns > now_ns)
        return now_ns;
    return local_ns > 0 ? local_ns : 0;
}
