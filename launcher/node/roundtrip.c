/* roundtrip.c - see roundtrip.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/roundtrip.h"

#include <stdlib.h>

#include "clock.h"

/* A node is slow if one heartbeat in a hundred takes longer than this ... */
#define SLOW_NS NS_PER_S
/* ... and this has happened this often, to heartbeats that were not in flight at the same time:
 * one break of the line, or one pause of this process, delays many at once. The count starts
 * over once all heartbeats are quick. */
#define SLOW_LEAST 3
#define QUICK_NS   (SLOW_NS / 2)

static void   find_best(struct roundtrips *trips);
static void   judge(struct roundtrips *trips, int64_t sent_ns, int64_t now_ns);
static size_t recent_count(const struct roundtrips *trips);
static int    compare(const void *one, const void *other);

void roundtrips_init(struct roundtrips *trips)
{
    *trips = (struct roundtrips){ .best_ns = INT64_MAX };
}

void roundtrips_begin(struct roundtrips *trips, int64_t agent_ns, int64_t now_ns)
{
    trips->offset_ns = now_ns - agent_ns;
}

/* Cristian's algorithm: assume that the agent read its clock half a round trip ago. The
 * shortest round trip has the smallest error. */
int roundtrips_take(struct roundtrips *trips, uint64_t sent_ns, uint64_t agent_ns, int64_t now_ns)
{
    struct roundtrip trip;

    if (sent_ns > (uint64_t)now_ns || agent_ns > INT64_MAX)
        return -1;
    trip.ns = now_ns - (int64_t)sent_ns;
    trip.offset_ns = (int64_t)sent_ns + trip.ns / 2 - (int64_t)agent_ns;
    trips->recent[trips->count++ % ROUNDTRIPS_RECENT] = trip;
    if (trip.ns > trips->most_ns)
        trips->most_ns = trip.ns;
    find_best(trips);
    judge(trips, (int64_t)sent_ns, now_ns);
    return 0;
}

static void find_best(struct roundtrips *trips)
{
    const struct roundtrip *best = &trips->recent[0];
    size_t                  i;

    for (i = 1; i < recent_count(trips); i++)
        if (trips->recent[i].ns < best->ns)
            best = &trips->recent[i];
    trips->best_ns = best->ns;
    trips->offset_ns = best->offset_ns;
}

static void judge(struct roundtrips *trips, int64_t sent_ns, int64_t now_ns)
{
    int64_t p99_ns = roundtrips_percentile(trips, 99);

    if (now_ns - sent_ns > SLOW_NS && sent_ns >= trips->slow_until_ns) {
        trips->slow_count++;
        trips->slow_until_ns = now_ns;
    }
    if (p99_ns > SLOW_NS && trips->slow_count >= SLOW_LEAST)
        trips->is_slow = true;
    else if (p99_ns < QUICK_NS)
        trips->slow_count = 0;
}

int64_t roundtrips_percentile(const struct roundtrips *trips, int percent)
{
    int64_t sorted[ROUNDTRIPS_RECENT];
    size_t  count = recent_count(trips), i;

    if (count == 0)
        return 0;
    for (i = 0; i < count; i++)
        sorted[i] = trips->recent[i].ns;
    qsort(sorted, count, sizeof *sorted, compare);
    return sorted[(count * (size_t)percent + 99) / 100 - 1];
}

static size_t recent_count(const struct roundtrips *trips)
{
    return trips->count < ROUNDTRIPS_RECENT ? trips->count : ROUNDTRIPS_RECENT;
}

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

    return (a > b) - (a < b);
}

int64_t roundtrips_local_ns(const struct roundtrips *trips, int64_t agent_ns, int64_t now_ns)
{
    int64_t local_ns;

    if (__builtin_add_overflow(agent_ns, trips->offset_ns, &local_ns) || local_ns > now_ns)
        return now_ns;
    return local_ns > 0 ? local_ns : 0;
}
