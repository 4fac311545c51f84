/* layers.h - the layers of muster-train check
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
    struct error         backend_why; /* why not nccl; "": the user chose, or nccl is used */
    struct reach         reach;
    struct comm         *comm;
    struct bench         bench;
    struct matrix        matrix;
    double              *work_s; /* of each rank */

    /* State of the running layer. */
    bool is_ours;      /* a failure started on this rank */
    char summary[300]; /* rank 0's line if the layer succeeds */

    bool slow[LAYERS]; /* the layer's results are right, but slow */
    bool is_over;      /* this rank has stopped without the others */
};

/* run: called on all ranks; returns a check_status, or LAYER_SKIP on all ranks. tell: called on
 * rank 0 if the layer succeeds; adds its results to the report. NULL: nothing to add. */
#define LAYER_SKIP (-1)
extern const struct layer_row {
    int  (*run)(struct check *check, struct error *err);
    void (*tell)(struct check *check);
} layers[LAYERS];

/* Call it on all ranks after the communicator broke: do the nodes still reach each other? Puts
 * the answer before the other faults. */
void check_reach_again(struct check *check);

/* Returns the exit status for the last failure: CHECK_TIMEOUT or CHECK_BACKEND. */
int check_failed(const struct check *check);

#endif
