/* data.h - text as numbered samples
 *
 * Tokens are the bytes of a file. Each sample is a pure function of its number and the
 * seed: ranks take the numbers that are theirs, whatever their number is, and a training
 * goes on at the number where it stopped.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DATA_H
#define MUSTER_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define DATA_BYTES 256         /* tokens that are bytes */
#define DATA_MASK  DATA_BYTES  /* the token that hides another one */

struct data {
    const uint8_t *bytes;
    size_t         size;
    int            length;    /* tokens of a sample */
    bool           is_masked; /* targets are hidden tokens; else each next token */
    uint64_t       seed;
    int64_t        samples;   /* in the file; after the last one another order begins */
};

/* The vocabulary must have room for the tokens. -1 with "PATH: why". Free with
 * data_close. */
int  data_open(struct data *data, const char *path, int length, bool is_masked,
               int vocabulary, uint64_t seed, struct error *err);
void data_close(struct data *data);

/* length tokens and as many targets; a target of -1 is none. */
void data_sample(const struct data *data, int64_t number, int32_t *tokens, int32_t *targets);

#endif
