/* adam_body.h - the common body of all Adam kernels
 *
 * A kernel's file first defines
 *
 *     KERNEL            attributes of a function for this kind of CPU
 *     LANES             elements in a vector
 *     vec               a vector of floats
 *     vec_set, vec_load, vec_store, vec_sub, vec_mul, vec_div, vec_sqrt
 *     vec_fma, vec_fms  a * b + c and a * b - c, with one rounding
 *     vec_load_half, vec_load_bfloat16, vec_store_half, vec_store_bfloat16
 *
 * then includes this file and calls adam_body() in its kernel. Averages move by a fraction of
 * the distance to the new value, which has a smaller rounding error than the sum of two
 * products. The loop is this simple because memory bandwidth limits its speed: prefetching and
 * streaming stores do not make it faster, and computing in double halves its speed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#define INLINE static inline __attribute__((always_inline)) KERNEL

INLINE vec vec_load_as(enum dtype type, const void *from, size_t at)
{
    switch (type) {
    case DTYPE_HALF:     return vec_load_half((const uint16_t *)from + at);
    case DTYPE_BFLOAT16: return vec_load_bfloat16((const uint16_t *)from + at);
    default:             return vec_load((const float *)from + at);
    }
}

INLINE void adam_vector(const struct adam_numbers *n, const struct adam_arrays *a, size_t at,
                        enum dtype grad_type, enum dtype copy_type)
{
    vec p = vec_load(a->param + at);
    vec m = vec_load(a->mean + at);
    vec v = vec_load(a->square + at);
    vec g = vec_mul(vec_load_as(grad_type, a->grad, at), vec_set(n->factor));
    vec root, change;

    g = vec_fma(vec_set(n->decay_in_grad), p, g);
    m = vec_fma(vec_set(n->take1), vec_sub(g, m), m);
    v = vec_fma(vec_set(n->take2), vec_fms(g, g, v), v);
    root = vec_fma(vec_sqrt(v), vec_set(n->root_factor), vec_set(n->eps));
    change = vec_mul(vec_set(n->decay_of_param), p);
    change = vec_fma(vec_set(n->rate), vec_div(m, root), change);
    p = vec_sub(p, change);
    vec_store(a->param + at, p);
    vec_store(a->mean + at, m);
    vec_store(a->square + at, v);
    if (copy_type == DTYPE_HALF)
        vec_store_half((uint16_t *)a->copy + at, p);
    if (copy_type == DTYPE_BFLOAT16)
        vec_store_bfloat16((uint16_t *)a->copy + at, p);
}

/* Computes the last elements, fewer than a vector, in a full vector on the stack. */
INLINE void adam_rest(const struct adam_numbers *n, const struct adam_arrays *a, size_t at,
                      enum dtype grad_type, enum dtype copy_type)
{
    const size_t       rest = a->count - at, size = dtype_size(grad_type);
    float              param[LANES] = { 0 }, mean[LANES] = { 0 }, square[LANES] = { 0 };
    float              grad[LANES] = { 0 };
    uint16_t           copy[LANES];
    struct adam_arrays one = { .param = param, .mean = mean, .square = square,
                               .grad = grad, .copy = copy };

    memcpy(param, a->param + at, rest * sizeof *param);
    memcpy(mean, a->mean + at, rest * sizeof *mean);
    memcpy(square, a->square + at, rest * sizeof *square);
    memcpy(grad, (const char *)a->grad + at * size, rest * size);
    adam_vector(n, &one, 0, grad_type, copy_type);
    memcpy(a->param + at, param, rest * sizeof *param);
    memcpy(a->mean + at, mean, rest * sizeof *mean);
    memcpy(a->square + at, square, rest * sizeof *square);
    if (copy_type != DTYPE_FLOAT)
        memcpy((uint16_t *)a->copy + at, copy, rest * sizeof *copy);
}

INLINE void adam_loop(const struct adam_numbers *n, const struct adam_arrays *a,
                      enum dtype grad_type, enum dtype copy_type)
{
    size_t at;

    for (at = 0; at + LANES <= a->count; at += LANES)
        adam_vector(n, a, at, grad_type, copy_type);
    if (at < a->count)
        adam_rest(n, a, at, grad_type, copy_type);
}

/* In each branch the types are constants, so the compiler makes a separate loop for each. */
INLINE void adam_copying(const struct adam_numbers *n, const struct adam_arrays *a,
                         enum dtype grad_type)
{
    if (a->copy == NULL)
        adam_loop(n, a, grad_type, DTYPE_FLOAT);
    else if (a->copy_type == DTYPE_HALF)
        adam_loop(n, a, grad_type, DTYPE_HALF);
    else
        adam_loop(n, a, grad_type, DTYPE_BFLOAT16);
}

INLINE void adam_body(const struct adam_numbers *n, const struct adam_arrays *a)
{
    switch (a->grad_type) {
    case DTYPE_HALF:     adam_copying(n, a, DTYPE_HALF); break;
    case DTYPE_BFLOAT16: adam_copying(n, a, DTYPE_BFLOAT16); break;
    default:             adam_copying(n, a, DTYPE_FLOAT); break;
    }
}
