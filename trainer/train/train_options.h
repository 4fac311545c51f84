/* train_options.h - the command line of muster-train train
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TRAIN_OPTIONS_H
#define MUSTER_TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/ds_given.h"
#include "err.h"
#include "weights/tuning.h"

struct train_options {
    const char *config;         /* ds_config.json; all texts are borrowed from argv */
    const char *model;          /* a name, or a directory with config.json and maybe weights */
    const char *data;           /* text or token shards */
    const char *tokenizer;      /* for text: a path, or "bytes"; NULL: the model's */
    const char *chat_template;  /* for records: its name; NULL: the tokenizer's */
    const char *learn;          /* of records: answers or all */
    int64_t     bad_lines;      /* records that may be broken */
    const char *eval_data;      /* samples that are not trained; NULL: none */
    int64_t     eval_interval;  /* steps; 0: only at saves and at the end */
    bool        data_shards;    /* muster assigns the samples to the ranks */
    const char *checkpoint_dir; /* NULL: write no checkpoints */
    bool        async_checkpoint;
    const char *export;         /* NULL: do not export the weights */
    const char *tag;            /* the checkpoint to resume from; NULL: the latest */
    const char *lr_scale;       /* "none", "ranks" */
    struct tuning_words tuning;
    struct ds_given given;      /* instead of values in config */
    int64_t     steps, epochs;  /* the last step, times through the data; both 0: once */
    int64_t     length;         /* tokens per sample */
    int64_t     save_interval;  /* steps; 0: only at the end */
    int64_t     keep;           /* checkpoints that stay; 0: all */
    int64_t     seed;
    int64_t     vocabulary, positions, width, heads, blocks; /* 0: the model's own value */
    double      dropout; /* rate; -1: as config.json says */
    bool        activation_checkpointing;
    bool        no_memory_check;
    const char *device; /* "auto", "cpu", "cuda" */
    double      timeout_s;
    bool        print_config;
};

enum train_options_result { TRAIN_OPTIONS_RUN, TRAIN_OPTIONS_HELP };

/* Returns a train_options_result, or -1 with the reason in err. */
int train_options_parse(struct train_options *options, int argc, char **argv,
                        struct error *err);

/* Returns a hash of the options that must be the same on all ranks, without the configuration,
 * the model and the data. */
uint64_t train_options_hash(const struct train_options *options);

void train_options_help(FILE *out);

#endif
