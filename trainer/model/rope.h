/* rope.h - the angles of rotary embeddings
 *
 * A head's elements i and i + head_width / 2 turn by position * frequency i. Longer contexts
 * than a model was trained with scale the frequencies: as in the functions with these names in
 * transformers' modeling_rope_utils.py.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ROPE_H
#define MUSTER_ROPE_H

#include <stdbool.h>

enum rope_scaling { ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3, ROPE_YARN };

struct rope {
    double            theta; /* frequency i is theta^(-2 i / head_width) */
    enum rope_scaling scaling;
    double            factor;   /* not ROPE_PLAIN: how much longer sequences may be */
    int               original; /* ROPE_LLAMA3, ROPE_YARN: positions before the scaling */
    double            low, high; /* ROPE_LLAMA3: low_freq_factor, high_freq_factor */
    double            beta_fast, beta_slow; /* ROPE_YARN */
    double            attention_factor;     /* ROPE_YARN, of cosines and sines */
    bool              truncate;             /* ROPE_YARN: whole numbers as borders */
};

/* Computes the cosine and the sine of each angle: [length][head_width / 2][2]. */
void rope_table(const struct rope *rope, int head_width, int length, double *table);

#endif
