/* step_pace.c - see step_pace.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdbool.h>

#include "elastic/step_pace.h"

#include <stdlib.h>
#include <string.h>

/* Ranks that write the same step do so within this part of the usual time. */
#define SAME_PART 0.2

static int by_size(const void *a, const void *b);

void step_pace_note(struct step_pace *pace, double now_s)
{
    double gap_s = now_s - pace->last_s, median_s = step_pace_median_s(pace);

    if (pace->has_last && gap_s < SAME_PART * median_s)
        return;
    if (pace->has_last) {
        pace->gap_s[pace->gaps++ % STEP_PACE_KEPT] = gap_s;
        if (gap_s > pace->longest_s)
            pace->longest_s = gap_s;
    }
    pace->has_last = true;
    pace->last_s = now_s;
}

void step_pace_again(struct step_pace *pace)
{
    pace->has_last = false;
}

double step_pace_median_s(const struct step_pace *pace)
{
    size_t kept = pace->gaps < STEP_PACE_KEPT ? pace->gaps : STEP_PACE_KEPT;
    double sorted[STEP_PACE_KEPT];

    if (kept < STEP_PACE_NEEDED)
        return -1;
    memcpy(sorted, pace->gap_s, kept * sizeof *sorted);
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
    double median_s = step_pace_median_s(pace);
    double usual_s = STEP_PACE_LEAST_S + STEP_PACE_TIMES * median_s;
    double pause_s = STEP_PACE_LEAST_S + STEP_PACE_PAUSE * pace->longest_s;

    if (median_s < 0)
        return -1;
    return usual_s > pause_s ? usual_s : pause_s;
}
