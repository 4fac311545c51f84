/* check_options.h - the command line of muster-train check
 *
 * The option letters are those of nccl-tests.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHECK_OPTIONS_H
#define MUSTER_CHECK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "check/collective.h"
#include "comm/dtype.h"
#include "err.h"

struct check_options {
    int64_t     bytes_min, bytes_max;
    int64_t     factor;      /* between two sizes; the last size is bytes_max */
    int64_t     iterations;  /* timed calls */
    int64_t     warmups;     /* calls that are not timed */
    int64_t     checks;      /* calls whose results are compared */
    int64_t     dtype, redop;
    const char *backend;     /* "auto", "nccl", "gloo"; texts are borrowed from argv */
    const char *python;      /* NULL: see wheels.h */
    const char *json, *html; /* NULL: none; "-": standard output */
    bool        quick, full; /* not both */
    bool        nccl_tests;  /* only the collectives, in the columns of nccl-tests */
    bool        has_chosen;  /* collectives were named on the command line */
    double      timeout_s;
    bool        run[COLLECTIVES_MAX]; /* run this row of collectives[]? */
};

enum check_options_result { CHECK_OPTIONS_RUN, CHECK_OPTIONS_HELP };

/* Sets options from the defaults and argv. Returns a check_options_result, or -1 with the
 * reason in err. */
int check_options_parse(struct check_options *options, int argc, char **argv,
                        struct error *err);

void check_options_help(FILE *out);

#endif
