/* dtype.h - the element types of tensors and messages, and what is done to them
 *
 * The half and bfloat16 types have no arithmetic of their own on most CPUs: here
 * they are converted to float, computed and rounded back to the nearest, ties to
 * even, as GPUs do.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DTYPE_H
#define MUSTER_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In NCCL's order, with its numbers: they are part of its ABI. */
enum dtype {
    DTYPE_INT8,
    DTYPE_UINT8,
    DTYPE_INT32,
    DTYPE_UINT32,
    DTYPE_INT64,
    DTYPE_UINT64,
    DTYPE_HALF,
    DTYPE_FLOAT,
    DTYPE_DOUBLE,
    DTYPE_BFLOAT16,
    DTYPE_COUNT
};

/* Likewise. */
enum redop { REDOP_SUM, REDOP_PROD, REDOP_MAX, REDOP_MIN, REDOP_COUNT };

/* Names are those of nccl-tests: "float", "half", "sum". find: -1 when there is
 * no such name. */
const char *dtype_name(enum dtype type);
const char *redop_name(enum redop op);
int         dtype_find(const char *name);
int         redop_find(const char *name);

size_t dtype_size(enum dtype type);

/* All integers from 0 to this one are exact in the type. */
int64_t dtype_exact_max(enum dtype type);

/* Elements from and to exact integers. What is no integer, or beyond int64_t,
 * reads as INT64_MIN. */
void    dtype_store(enum dtype type, void *array, size_t i, int64_t value);
int64_t dtype_load(enum dtype type, const void *array, size_t i);

/* An element as people read it, whatever it is. */
void dtype_text(enum dtype type, const void *array, size_t i, char *text, size_t size);

/* out[i] = a[i] op b[i]. out may be a or b. */
void dtype_reduce(enum dtype type, enum redop op, void *out, const void *a, const void *b,
                  size_t count);

float    half_to_float(uint16_t half);
uint16_t float_to_half(float value);
float    bfloat16_to_float(uint16_t bf16);
uint16_t float_to_bfloat16(float value);

#ifdef __cplusplus
}
#endif

#endif
