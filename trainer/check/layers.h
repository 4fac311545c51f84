/* layers.h - what muster-train check does, layer by layer
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LAYERS_H
#define MUSTER_LAYERS_H

#include <stdbool.h>

#include "check/bench.h"
#include "check/check.h"
#include "check/check_options.h"
#include "check/nodes/matrix.h"
#include "check/reach.h"
#include "check/report.h"
#include "check/roster.h"
#include "comm/comm.h"

struct check {
    int64_t              start_ns;
    struct check_options options;
    struct pmi           pmi;
    struct roster        roster;
    struct iface         iface;
    struct report        report;
    const char          *backend;     /* "nccl" or "gloo" */
    struct error         backend_why; /* "": it was asked for, or fits */
    struct reach         reach;
    struct comm         *comm;
    struct bench         bench;
    struct matrix        matrix;
    double              *work_s; /* of each rank */

    /* Of the layer that is run. */
    bool is_ours;      /* a failure began here */
    char summary[300]; /* rank 0's line when all is well */

    bool slow[LAYERS]; /* right, but not as fast as it should be */
    bool is_over;      /* ended without the others */
};

/* run: on all ranks; a check_status, or LAYER_SKIP, the same everywhere. tell: on rank 0, when
 * all went well; what was found, into the report. NULL: nothing. */
#define LAYER_SKIP (-1)
extern const struct layer_row {
    int  (*run)(struct check *check, struct error *err);
    void (*tell)(struct check *check);
} layers[LAYERS];

/* On all ranks, after the communicator broke: do the nodes reach each other now? The answer
 * goes before the other faults. */
void check_reach_again(struct check *check);

/* The exit status for the failure that just happened: CHECK_TIMEOUT or CHECK_BACKEND. */
int check_failed(const struct check *check);

#endif
