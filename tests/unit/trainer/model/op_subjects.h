/* op_subjects.h - operations of a model to look at, and how they compare with double
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OP_SUBJECTS_H
#define MUSTER_OP_SUBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"
#include "model/ops.h"

#define SUBJECT_INPUTS 4

/* A function of some arrays, by one or more operations. */
struct subject {
    const char *name;
    size_t      size[SUBJECT_INPUTS], out; /* elements; 0: there is no such input */
    void      (*forward)(struct ops *ops, void **in, void *out);
    void      (*backward)(struct ops *ops, void **in, const void *dout, void **din);
};

/* The small ones come first. */
extern const struct subject subjects[];
extern const size_t         small_subjects, all_subjects;

/* Memory of the subject that was made last, for what forward leaves for backward. */
extern void *subject_scratch[SUBJECT_INPUTS];

struct arrays {
    void *in[SUBJECT_INPUTS], *din[SUBJECT_INPUTS], *out, *dout;
    void *scratch[SUBJECT_INPUTS];
};

/* Inputs and the output's gradient at random; the inputs' gradients zero. Those that were made
 * last can be computed with. */
void subject_make(struct arrays *arrays, const struct subject *subject, struct ops *ops);
void subject_drop(struct arrays *arrays, struct ops *ops);

/* The same numbers in every run, from -1 to 1. */
double subject_number(uint64_t *state);

struct ops *subject_ops(enum dtype type); /* on CPUs */
void        subject_fine(struct ops *ops);

/* Attention, whose rows have first the queries, then the keys, then the values. */
void subject_attend(struct ops *ops, const struct attention *s, void *rows, void *out);
void subject_attend_backward(struct ops *ops, const struct attention *s, void *rows,
                             const void *dout, void *drows);

/* Defines NAME_forward() and NAME_backward() for attention of this shape. */
#define ATTENTION(NAME, ...)                                                                     \
    static const struct attention NAME = { __VA_ARGS__ };                                        \
                                                                                                 \
    static void NAME##_forward(struct ops *ops, void **in, void *out)                            \
    {                                                                                            \
        subject_attend(ops, &NAME, in[0], out);                                                  \
    }                                                                                            \
                                                                                                 \
    static void NAME##_backward(struct ops *ops, void **in, const void *dout, void **din)        \
    {                                                                                            \
        subject_attend_backward(ops, &NAME, in[0], dout, din[0]);                                \
    }

/* All subjects, or these, with what double gives; with all subjects, dequantize_compare(), too. */
void subjects_compare(struct ops *ops, double tolerance);
void subjects_compare_these(const struct subject *these, size_t count, struct ops *ops,
                            double tolerance);

/* Quantized weights of both kinds and several lengths, bit for bit, with what quant.c decodes. */
void dequantize_compare(struct ops *ops);

/* Products of floats in every combination of transposes, sums and batches, likewise. */
void products_compare(struct ops *ops);

#endif
