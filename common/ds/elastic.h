/* elastic.h - one batch size for as many numbers of ranks as possible
 *
 * Computes the same numbers as DeepSpeed's elasticity, versions 0.1 and 0.2: a job keeps its
 * batch size, and with it its loss curve, when it continues with more or fewer ranks.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ELASTIC_H
#define MUSTER_ELASTIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define ELASTIC_BATCH_MAX 100000000 /* candidates are tried one by one */
#define ELASTIC_MICRO_MAX 64

struct elastic_request {
    double         version; /* 0.1 or 0.2 */
    int64_t        max_batch;
    const int64_t *micro; /* batch sizes a rank can take at once, 1 or more each */
    size_t         micros;
    int64_t        min_ranks, max_ranks;
    bool           prefer_larger;
    int64_t        ranks_per_node, model_parallel; /* for version 0.2 */
};

struct elastic_plan {
    int64_t  batch;
    int64_t *worlds; /* the numbers of ranks that fit, ascending; 0.2: of data-parallel ranks */
    size_t   count;
    int64_t  micro; /* for the requested world; 0: none was requested */
};

/* Makes a plan. world is the current number of ranks; 0 requests only the list, which version
 * 0.2 cannot give. Returns -1 if the request makes no sense, or world is not in the list. Clear
 * the plan also after a failure. */
int  elastic_plan(struct elastic_plan *plan, const struct elastic_request *request,
                  int64_t world, struct error *err);
void elastic_plan_clear(struct elastic_plan *plan);

#endif
