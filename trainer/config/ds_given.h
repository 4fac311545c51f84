/* ds_given.h - values of a command line, which replace those of ds_config.json
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DS_GIVEN_H
#define MUSTER_DS_GIVEN_H

#include <stdint.h>

#include <jansson.h>

/* 0: not given. */
struct ds_given {
    double  lr;
    int64_t micro_batch, accumulation; /* samples of a pass, passes of a step */
    int64_t warmup;                    /* steps */
};

struct ds_config;

/* Puts config->given into the parsed file, also where it says "auto". A file without optimizer gets
 * AdamW, and one without scheduler a linear warm-up to a constant rate. Of a train_batch_size that
 * stays, the size that is not given follows. A note names what is replaced; it is a problem if the
 * scheduler of the file has no such value. */
void ds_given_apply(struct ds_config *config, json_t *root);

/* Returns the option that has given the value of this key, "--lr"; NULL: none. */
const char *ds_given_option(const struct ds_given *given, const char *path);

#endif
