/* data.h - tokens to train on, the same for every number of ranks
 *
 * The data is a file, or a directory whose files are read in the order of their names. Files
 * are either UTF-8 text, where a byte is a token, or token shards (*.bin) of the project llm.c.
 * Each sample has length tokens. Samples follow each other and never span two files; a
 * remainder at the end of a file is ignored. An epoch has every sample once, in an order that
 * depends only on seed and epoch.
 *
 * Sample number n of the training is a position in that order and does not depend on the rank.
 * Rank r of W takes numbers r, r + W ... of a step, so no two ranks use the same sample, and a
 * training can resume at the exact sample with another number of ranks. A checkpoint needs only
 * the sample's number.
 *
 *     data_open -> data_sample(data, n) -> data_close
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DATA_H
#define MUSTER_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define DATA_FILES_MAX  65536
#define DATA_BYTE_WORDS 256 /* the vocabulary of text */

struct data {
    struct data_file {
        char    *path;
        int      fd;
        bool     text;   /* one byte per token; otherwise two, after a header */
        uint64_t tokens;
        uint64_t first;  /* number of its first sample */
    } *file;
    int      files;
    int      length;     /* tokens of a sample, without the additional one */
    bool     with_next;  /* each sample has one additional token to predict */
    uint64_t samples;    /* per epoch */
    uint64_t seed;
};

/* with_next: samples have length + 1 tokens, and neighbours share one, for models that predict
 * the next token. NULL with "PATH: reason" in err. */
struct data *data_open(const char *path, int length, bool with_next, uint64_t seed,
                       struct error *err);
void         data_close(struct data *data); /* NULL is fine */

/* Reads the tokens of sample number n, counted from the start of the training through all
 * epochs: length tokens, or length + 1. -1 if a token is not below vocabulary, or on a
 * failure. */
int data_sample(const struct data *data, uint64_t n, int vocabulary, int32_t *tokens,
                struct error *err);

#endif
