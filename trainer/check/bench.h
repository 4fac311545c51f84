/* bench.h - collectives run, compared and timed over a communicator
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BENCH_H
#define MUSTER_BENCH_H

#include <stdbool.h>

#include "check/check_options.h"
#include "check/collective.h"
#include "check/pattern.h"
#include "check/report.h"
#include "check/roster.h"
#include "comm/comm.h"

struct bench {
    const struct check_options *options;
    const struct roster        *roster;
    struct comm                *comm;
    struct pattern              moved;   /* what collectives that only move data send */
    struct pattern              reduced;
    void                       *in, *out; /* in the communicator's memory */
    void                       *staging;  /* on the host, as large as one of them */
    void (*release)(void *memory);        /* of in and out; outlives comm */
    double                      wrong;    /* elements, on this rank */
    char                        first_wrong[300]; /* which was the first */
    bool                        corrupt;  /* for the tests: spoil what all_reduce gives */
};

/* Prepare for sizes up to --max-bytes; borrows its arguments. -1 when memory is
 * out. bench_clear comes after the communicator was closed or aborted. */
int  bench_init(struct bench *bench, const struct check_options *options,
                const struct roster *roster, struct comm *comm, struct error *err);
void bench_clear(struct bench *bench);

/* One collective at two small sizes, compared and not timed. What is wrong is counted; -1
 * only when the communicator failed. */
int bench_check(struct bench *bench, const struct collective *what, struct error *err);

/* The same, timed at all sizes, into the report. What is wrong is said on stderr, too. */
int bench_run(struct bench *bench, const struct collective *what, struct report *report,
              struct error *err);

#endif
