/* dtype.h - the element types of tensors and messages, and operations on them
 *
 * Most CPUs have no arithmetic for half and bfloat16. These types are converted to
 * float for each operation, and the result is rounded back to nearest, ties to even,
 * as GPUs do.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DTYPE_H
#define MUSTER_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In NCCL's order, with NCCL's numbers, which are part of NCCL's ABI. */
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

/* In NCCL's order, too. */
enum redop { REDOP_SUM, REDOP_PROD, REDOP_MAX, REDOP_MIN, REDOP_COUNT };

/* The names are those of nccl-tests: "float", "half", "sum". The find functions return
 * -1 for an unknown name. */
const char *dtype_name(enum dtype type);
const char *redop_name(enum redop op);
int         dtype_find(const char *name);
int         redop_find(const char *name);

size_t dtype_size(enum dtype type);

/* Returns the largest n for which the type represents all integers from 0 to n exactly. */
int64_t dtype_exact_max(enum dtype type);

/* Convert an element from and to an exact integer. dtype_load returns INT64_MIN for a
 * value that is not an integer or does not fit into int64_t. */
void    dtype_store(enum dtype type, void *array, size_t i, int64_t value);
int64_t dtype_load(enum dtype type, const void *array, size_t i);

/* Formats an element of any type as decimal text. */
void dtype_text(enum dtype type, const void *array, size_t i, char *text, size_t size);

/* Computes out[i] = a[i] op b[i]. out may be a or b. */
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
