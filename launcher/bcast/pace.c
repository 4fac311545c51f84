/* pace.c - see pace.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/pace.h"

#include <stdio.h>
#include <stdlib.h>

#include "bcast/failures.h"
#include "run/run.h"

#define SMOOTHED_TIMES 4

/* Shows "muster: 3/8 nodes done; te5: 512.0 MiB, 93 MB/s". */
void pace_show(struct run *run, struct pace *pace, double seconds)
{
    size_t n, done = 0, slowest = run->plan->nodes;
    char   text[256], *size;

    for (n = 0; n < run->plan->nodes; n++) {
        double rate = (double)(pace[n].bytes - pace[n].shown) / seconds;

        pace[n].rate += (rate - pace[n].rate) / SMOOTHED_TIMES;
        pace[n].shown = pace[n].bytes;
        done += pace[n].is_done;
        if (!pace[n].is_done && run->node[n]->state == NODE_PROBING &&
            (slowest == run->plan->nodes || pace[n].bytes < pace[slowest].bytes))
            slowest = n;
    }
    if (slowest == run->plan->nodes)
        return;
    size = size_words(pace[slowest].bytes);
    snprintf(text, sizeof text, "muster: %zu/%zu nodes done; %s: %s, %.0f MB/s", done,
             run->plan->nodes, run->plan->node[slowest].host, size, pace[slowest].rate / 1e6);
    free(size);
    output_progress(run->output, text);
}
