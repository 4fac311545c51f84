/* bcast_progress.c - see bcast_progress.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/bcast_progress.h"

#include <stdio.h>
#include <stdlib.h>

#include "bcast/failures.h"
#include "run/run.h"

#define SMOOTHED_TIMES 4

/* Shows "muster: 3/8 nodes done; te5: 512.0 MiB, 93 MB/s". */
void bcast_progress_show(struct run *run, struct bcast_progress *progress, double seconds)
{
    size_t n, done = 0, slowest = run->plan->nodes;
    char   text[256], *size;

    for (n = 0; n < run->plan->nodes; n++) {
        double rate = (double)(progress[n].bytes - progress[n].shown) / seconds;

        progress[n].rate += (rate - progress[n].rate) / SMOOTHED_TIMES;
        progress[n].shown = progress[n].bytes;
        done += progress[n].is_done;
        if (!progress[n].is_done && run->node[n]->state == NODE_PROBING &&
            (slowest == run->plan->nodes || progress[n].bytes < progress[slowest].bytes))
            slowest = n;
    }
    if (slowest == run->plan->nodes)
        return;
    size = size_words(progress[slowest].bytes);
    snprintf(text, sizeof text, "muster: %zu/%zu nodes done; %s: %s, %.0f MB/s", done,
             run->plan->nodes, run->plan->node[slowest].host, size,
             progress[slowest].rate / 1e6);
    free(size);
    output_progress(run->output, text);
}
