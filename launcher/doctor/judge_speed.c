/* judge_speed.c - is a node, or the path between two, much slower than the others?
 *
 * With --full, nodes send to several others in turn. The usual speed is the median of all
 * paths. If all paths from a node, or to it, are slow, the finding is about the node, otherwise
 * about each slow path.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define ROUNDS      8   /* rounds that may contain measurements */
#define SLOW_PART   0.5 /* slow: below this part of the usual speed */
#define LATE_TIMES  3.0 /* late: above this many usual round trips, */
#define LATE_MS     0.5 /* plus this time */
#define BREAKS "all nodes wait for the slowest path in each all_reduce"
#define MEND        "ip -s link; ethtool INTERFACE; or leave the node out (--exclude)"

/* The measurements from one node to another: the best of all rounds. */
struct way {
    size_t from, to;
    double mb_s, trip_ms;
};

struct speeds {
    struct way *way;
    size_t      count;
    double      mb_s, trip_ms; /* the usual values */
};

static void   read_speeds(const struct subjects *subjects, struct speeds *speeds);
static void   add(struct speeds *speeds, size_t from, size_t to, double mb_s, double trip_ms);
static double middle(const struct speeds *speeds, bool is_trip);
static int    by_size(const void *left, const void *right);
static bool   is_slow(const struct speeds *speeds, size_t node, bool to_it, double *best);
static bool   has_slow_end(const struct speeds *speeds, const struct way *way);
static bool   is_late(const struct speeds *speeds, const struct way *way);
static void   judge_node(const struct speeds *speeds, size_t node, struct findings *findings);
static void   judge_way(const struct subjects *subjects, const struct speeds *speeds,
                        const struct way *way, struct findings *findings);

void judge_speed(const struct subjects *subjects, struct findings *findings)
{
    struct speeds speeds = { .way = xcalloc(subjects->count * ROUNDS + 1, sizeof *speeds.way) };
    size_t        i;

    read_speeds(subjects, &speeds);
    speeds.mb_s = middle(&speeds, false);
    speeds.trip_ms = middle(&speeds, true);
    for (i = 0; i < subjects->count; i++)
        judge_node(&speeds, i, findings);
    for (i = 0; i < speeds.count; i++)
        judge_way(subjects, &speeds, &speeds.way[i], findings);
    free(speeds.way);
}

static void read_speeds(const struct subjects *subjects, struct speeds *speeds)
{
    const json_t *value;
    size_t        i;
    int           round;
    char          name[32];
    double        mb_s, trip_ms;
    json_int_t    to;

    for (i = 0; i < subjects->count; i++) {
        for (round = 0; round < ROUNDS; round++) {
            snprintf(name, sizeof name, "speed %d", round);
            value = json_object_get(subjects->node[i].facts, name);
            to = json_integer_value(json_object_get(value, "node"));
            mb_s = json_number_value(json_object_get(value, "mb_s"));
            trip_ms = json_number_value(json_object_get(value, "trip_ms"));
            if (to >= 0 && to < (json_int_t)subjects->count && mb_s > 0 && trip_ms > 0)
                add(speeds, i, (size_t)to, mb_s, trip_ms);
        }
    }
}

static void add(struct speeds *speeds, size_t from, size_t to, double mb_s, double trip_ms)
{
    struct way *way = speeds->way;
    size_t      i;

    for (i = 0; i < speeds->count && (way[i].from != from || way[i].to != to); i++)
        ;
    if (i == speeds->count)
        way[speeds->count++] = (struct way){ from, to, mb_s, trip_ms };
    if (mb_s > way[i].mb_s)
        way[i].mb_s = mb_s;
    if (trip_ms < way[i].trip_ms)
        way[i].trip_ms = trip_ms;
}

static double middle(const struct speeds *speeds, bool is_trip)
{
    double *value = xcalloc(speeds->count + 1, sizeof *value), found;
    size_t  i;

    for (i = 0; i < speeds->count; i++)
        value[i] = is_trip ? speeds->way[i].trip_ms : speeds->way[i].mb_s;
    qsort(value, speeds->count, sizeof *value, by_size);
    found = value[is_trip && speeds->count > 0 ? (speeds->count - 1) / 2 : speeds->count / 2];
    free(value);
    return found;
}

static int by_size(const void *left, const void *right)
{
    const double *one = left, *other = right;

    return (*one > *other) - (*one < *other);
}

/* Are all paths from the node, or to it, slow? */
static bool is_slow(const struct speeds *speeds, size_t node, bool to_it, double *best)
{
    const struct way *way;
    size_t            i;

    for (*best = 0, i = 0; i < speeds->count; i++) {
        way = &speeds->way[i];
        if ((to_it ? way->to : way->from) == node && way->mb_s > *best)
            *best = way->mb_s;
    }
    return *best > 0 && *best < SLOW_PART * speeds->mb_s;
}

/* Is either end of the path slow? It counts also if that end is slow in the other direction,
 * since then acknowledgements wait. */
static bool has_slow_end(const struct speeds *speeds, const struct way *way)
{
    double best;

    return is_slow(speeds, way->from, false, &best) || is_slow(speeds, way->from, true, &best) ||
           is_slow(speeds, way->to, false, &best) || is_slow(speeds, way->to, true, &best);
}

static bool is_late(const struct speeds *speeds, const struct way *way)
{
    return way->trip_ms > LATE_TIMES * speeds->trip_ms + LATE_MS;
}

static void judge_node(const struct speeds *speeds, size_t node, struct findings *findings)
{
    double best;
    char  *text;
    int    to_it;

    for (to_it = 0; to_it <= 1; to_it++) {
        if (!is_slow(speeds, node, to_it, &best))
            continue;
        text = xasprintf("it %s at most %.3g MB/s, but %.3g MB/s is usual",
                         to_it ? "receives" : "sends", best, speeds->mb_s);
        findings_add(findings, (int)node, false, "speed", text, BREAKS, MEND);
        free(text);
    }
}

static void judge_way(const struct subjects *subjects, const struct speeds *speeds,
                      const struct way *way, struct findings *findings)
{
    const char *to = subjects->node[way->to].host;
    char       *text;

    if (way->mb_s < SLOW_PART * speeds->mb_s && !has_slow_end(speeds, way)) {
        text = xasprintf("it sends %.3g MB/s to %s, but %.3g MB/s is usual", way->mb_s, to,
                         speeds->mb_s);
        findings_add(findings, (int)way->from, false, "speed", text, BREAKS, MEND);
        free(text);
    }
    if (is_late(speeds, way)) {
        text = xasprintf("a round trip to %s takes %.3g ms, but %.3g ms is usual", to,
                         way->trip_ms, speeds->trip_ms);
        findings_add(findings, (int)way->from, false, "speed", text, BREAKS,
                     "put all nodes into the same rack or placement group");
        free(text);
    }
}
