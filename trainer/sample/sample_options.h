/* sample_options.h - the options of muster-train sample
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAMPLE_OPTIONS_H
#define MUSTER_SAMPLE_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "err.h"

struct sample_options {
    const char *model;  /* directory with config.json and weights */
    const char *prompt; /* the text to go on with, or to fill */
    int64_t     bytes;  /* to add */
    int64_t     length; /* tokens that the model looks back at */
    double      temperature;
    int64_t     seed;
};

enum { SAMPLE_OPTIONS_RUN, SAMPLE_OPTIONS_HELP };

/* -1 with what is wrong. The texts are argv's. */
int  sample_options_parse(struct sample_options *options, int argc, char **argv,
                          struct error *err);
void sample_options_help(FILE *out);

#endif
