/* bcast_progress.h - the progress line of muster bcast and collect, on a terminal
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BCAST_PROGRESS_H
#define MUSTER_BCAST_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct run;

/* The progress of one node. */
struct bcast_progress {
    uint64_t bytes, shown; /* received so far; received when last shown */
    double   rate;         /* bytes per second, smoothed */
    bool     is_done;
};

/* Shows how far the slowest node is. progress: by node. seconds: since the last call. */
void bcast_progress_show(struct run *run, struct bcast_progress *progress, double seconds);

#endif
