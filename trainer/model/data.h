/* data.h - tokens to train on, the same for every number of ranks
 *
 * A file, or a directory whose files are taken in the order of their names: either UTF-8 text,
 * where a byte is a token, or the token shards (*.bin) of the project llm.c. Samples are length
 * tokens each, one behind the other, never across two files; what is left of a file is not used.
 * An epoch has every sample once, in an order that depends on seed and epoch alone.
 *
 * Sample number n of the run is a place in that order, whoever asks: rank r of W takes numbers
 * r, r + W ... of a step, so that no two ranks see the same sample, and a run goes on at the
 * exact sample with another number of ranks. The number is all there is to keep.
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
        bool     text;   /* a byte a token; otherwise two, behind a header */
        uint64_t tokens;
        uint64_t first;  /* number of its first sample */
    } *file;
    int      files;
    int      length;     /* tokens of a sample, without the one more */
    bool     with_next;  /* each sample has one token more, to be guessed */
    uint64_t samples;    /* of an epoch */
    uint64_t seed;
};

/* with_next: samples have length + 1 tokens, of which neighbours share one: for models that
 * guess the next token. NULL with "PATH: what is wrong". */
struct data *data_open(const char *path, int length, bool with_next, uint64_t seed,
                       struct error *err);
void         data_close(struct data *data); /* NULL is fine */

/* The tokens of sample number n, counted from the beginning of the run through all epochs:
 * length of them, or length + 1. -1 when a token is not below vocabulary, or on a failure. */
int data_sample(const struct data *data, uint64_t n, int vocabulary, int32_t *tokens,
                struct error *err);

#endif
