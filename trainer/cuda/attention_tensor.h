/* attention_tensor.h - attention by the tensor cores, for half and bfloat16
 *
 * Keeps the same numbers for the backward pass as attention.cu, which does float, and all on GPUs
 * without these tensor cores.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ATTENTION_TENSOR_H
#define MUSTER_ATTENTION_TENSOR_H

#include "cuda/ops_state.h"

/* Returns whether this GPU has the tensor cores for it, and this program code for them. */
bool attention_tensor_works(enum dtype type);

/* Returns whether it can do this. */
bool attention_tensor_fits(struct ops *ops, const struct attention *s);

/* In s, begins is in the GPU's memory. row_dots: dout times out for each row of each head. */
void attention_tensor(struct ops *ops, const struct attention *s, void *out, void *kept,
                      const struct qkv *x);
void attention_tensor_backward(struct ops *ops, const struct attention *s, const struct qkv *dx,
                               const void *row_dots, const void *dout, const struct qkv *x,
                               const void *kept);

#endif
