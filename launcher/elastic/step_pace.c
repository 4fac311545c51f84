/* step_pace.c - see step_pace.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/step_pace.h"

#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b);

void step_pace_note(struct step_pace *pace, double now_s)
{
    double pause_s = now_s - pace->last_s;

    if (pace->has_last && pause_s > 0)
        step_pace_add(pace, pause_s);
    if (!pace->has_last || pause_s > 0)
        pace->last_s = now_s;
    pace->has_last = true;
}

void step_pace_add(struct step_pace *pace, double pause_s)
{
    pace->pause_s[pace->pauses++ % STEP_PACE_KEPT] = pause_s;
    if (pause_s > pace->longest_s)
        pace->longest_s = pause_s;
}

void step_pace_again(struct step_pace *pace)
{
    pace->has_last = false;
}

double step_pace_median_s(const struct step_pace *pace)
{
    size_t kept = pace->pauses < STEP_PACE_KEPT ? pace->pauses : STEP_PACE_KEPT;
    double sorted[STEP_PACE_KEPT];

    if (kept < STEP_PACE_NEEDED)
        return -1;
    memcpy(sorted, pace->pause_s, kept * sizeof *sorted);
    qsort(sorted, kept, sizeof *sorted, by_size);
    return sorted[kept / 2];
}

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

double step_pace_limit_s(const struct step_pace *pace)
{
    double median_s = step_pace_median_s(pace), limit_s = STEP_PACE_LEAST_S;

    if (median_s < 0)
        return -1;
    if (limit_s < STEP_PACE_TIMES * median_s)
        limit_s = STEP_PACE_TIMES * median_s;
    if (limit_s < STEP_PACE_PAUSES * pace->longest_s)
        limit_s = STEP_PACE_PAUSES * pace->longest_s;
    return limit_s;
}
