/* pace.h - the progress line of muster bcast and collect, on a terminal
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PACE_H
#define MUSTER_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct run;

/* The pace of one node. */
struct pace {
    uint64_t bytes, shown; /* received so far; received when last shown */
    double   rate;         /* bytes per second, smoothed */
    bool     is_done;
};

/* Shows how far the slowest node is. pace: by node. seconds: since the last call. */
void pace_show(struct run *run, struct pace *pace, double seconds);

#endif
