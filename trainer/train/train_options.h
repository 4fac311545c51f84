/* train_options.h - what muster-train is told on its command line
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TRAIN_OPTIONS_H
#define MUSTER_TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"

struct train_options {
    const char *config;         /* ds_config.json; all texts are borrowed from argv */
    const char *model;          /* a name, or a directory with config.json, maybe weights */
    const char *data;           /* text or token shards */
    bool        data_shards;    /* which rank takes which samples is muster's business */
    const char *checkpoint_dir; /* NULL: none is written */
    bool        async_checkpoint;
    const char *export;         /* NULL: the weights go nowhere else */
    const char *tag;            /* the checkpoint to go on from; NULL: the latest */
    int64_t     steps;          /* the last one; 0: once through the data */
    int64_t     length;         /* tokens of a sample */
    int64_t     save_interval;  /* steps; 0: at the end only */
    int64_t     seed;
    int64_t     vocabulary, positions, width, heads, blocks; /* 0: as the model has it */
    double      dropout; /* rate; -1: as config.json says */
    bool        activation_checkpointing;
    const char *device; /* "auto", "cpu", "cuda" */
    double      timeout_s;
    bool        print_config;
};

enum train_options_result { TRAIN_OPTIONS_RUN, TRAIN_OPTIONS_HELP };

/* A train_options_result, or -1 with what is wrong in err. */
int train_options_parse(struct train_options *options, int argc, char **argv,
                        struct error *err);

/* Of what has to be the same on all ranks, but for the configuration, the model and the data. */
uint64_t train_options_hash(const struct train_options *options);

void train_options_help(FILE *out);

#endif
