/* check_options.h - the command line of muster-train check
 *
 * Letters are those of nccl-tests.
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
    int64_t     factor;      /* from one size to the next; the last one is bytes_max */
    int64_t     iterations;  /* timed */
    int64_t     warmups;     /* not timed */
    int64_t     checks;      /* whose values are compared */
    int64_t     dtype, redop;
    const char *backend;     /* "auto", "nccl", "gloo"; borrowed from argv, as json is */
    const char *json, *html; /* NULL: none; "-": standard output */
    bool        quick, full; /* not both */
    bool        nccl_tests;  /* only the collectives, in the columns of nccl-tests */
    bool        has_chosen;  /* collectives were named */
    double      timeout_s;
    bool        run[COLLECTIVES_MAX]; /* which collectives */
};

enum check_options_result { CHECK_OPTIONS_RUN, CHECK_OPTIONS_HELP };

/* Fill from the defaults and argv. Returns a check_options_result, or -1 with what
 * is wrong in err. */
int check_options_parse(struct check_options *options, int argc, char **argv,
                        struct error *err);

void check_options_help(FILE *out);

#endif
