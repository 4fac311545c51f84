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
    const char *prompt; /* the text to continue, or to fill */
    int64_t     bytes;  /* number of bytes to add */
    int64_t     length; /* tokens of context for the model */
    double      temperature;
    int64_t     seed;
};

enum { SAMPLE_OPTIONS_RUN, SAMPLE_OPTIONS_HELP };

/* Returns SAMPLE_OPTIONS_..., or -1 with the reason in err. The texts are borrowed from
 * argv. */
int  sample_options_parse(struct sample_options *options, int argc, char **argv,
                          struct error *err);
void sample_options_help(FILE *out);

#endif
