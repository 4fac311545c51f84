/* bench.h - runs collectives on a communicator, checks their results and times them
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
    struct pattern              moved;   /* for collectives that only move data */
    struct pattern              reduced; /* for collectives that reduce */
    void                       *in, *out; /* in the communicator's memory */
    void                       *staging;  /* on the host, as large as in or out */
    void (*release)(void *memory);        /* for in and out; outlives comm */
    double                      wrong;    /* number of wrong elements on this rank */
    char                        first_wrong[300]; /* describes the first wrong result */
    bool                        corrupt;  /* for tests: spoil the results of all_reduce */
};

/* Allocates memory for sizes up to --max-bytes; borrows its arguments. -1 if memory is short.
 * Call bench_clear() after the communicator has been closed or aborted. */
int  bench_init(struct bench *bench, const struct check_options *options,
                const struct roster *roster, struct comm *comm, struct error *err);
void bench_clear(struct bench *bench);

/* Checks one collective at two small sizes, and does not time it. Counts wrong elements;
 * returns -1 only if the communicator fails. */
int bench_check(struct bench *bench, const struct collective *what, struct error *err);

/* Checks and times one collective at all sizes, and adds the results to the report. Also prints
 * wrong results on stderr. */
int bench_run(struct bench *bench, const struct collective *what, struct report *report,
              struct error *err);

#endif
