/* ds_given.h - values of a command line, which replace those of ds_config.json
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_GIVEN_H
#define MUSTER_DS_GIVEN_H

#include <stdint.h>

#include <jansson.h>

#include "err.h"

/* 0: not given. */
struct ds_given {
    double  lr;
    int64_t micro_batch, accumulation; /* samples of a pass, passes of a step */
    int64_t warmup;                    /* steps */
};

/* Puts them into the parsed file, also where it says "auto". A file without optimizer gets AdamW,
 * and one without scheduler a linear warm-up to a constant rate. -1 with err if the scheduler of
 * the file has no such value. */
int ds_given_apply(const struct ds_given *given, json_t *root, struct error *err);

/* Returns the option that has given the value of this key, "--lr"; NULL: none. */
const char *ds_given_option(const struct ds_given *given, const char *path);

#endif
