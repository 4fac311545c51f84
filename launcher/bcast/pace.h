/* pace.h - the progress line of muster bcast and collect, on a terminal
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PACE_H
#define MUSTER_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct run;

/* Of one node. */
struct pace {
    uint64_t bytes, shown; /* that came; when that was last shown */
    double   rate;         /* bytes a second, smoothed */
    bool     is_done;
};

/* How far the slowest node is: pace[] by node. seconds: since the last time. */
void pace_show(struct run *run, struct pace *pace, double seconds);

#endif
