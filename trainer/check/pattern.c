/* pattern.c - see pattern.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/pattern.h"

#include <stdbool.h>
#include <stdlib.h>

#include "xalloc.h"

#define MODULUS_MAX 251 /* a prime below 256, the last exact integer of bfloat16 */
#define FACTORS_MAX 6   /* factors of 2 in a product: 2^6 fits into int8 */

static int divide_up(int a, int b);
static int largest_prime(int64_t limit);

void pattern_make(struct pattern *pattern, enum dtype type, enum redop op, int ranks)
{
    int64_t limit = dtype_exact_max(type);
    size_t  i;
    int     rank;

    *pattern = (struct pattern){ .op = op, .ranks = ranks, .stride = 1 };
    if (op == REDOP_SUM) {
        /* As many contributors as possible that each add at least 1, then the largest
         * numbers that they can add. */
        if (ranks > limit)
            pattern->stride = divide_up(ranks, (int)limit);
        limit /= divide_up(ranks, pattern->stride);
    } else if (op == REDOP_PROD) {
        pattern->stride = ranks > 2 * FACTORS_MAX ? divide_up(ranks, FACTORS_MAX) : 2;
    }
    pattern->modulus = largest_prime(limit);
    pattern->period = (size_t)pattern->modulus;
    if (op == REDOP_SUM)
        pattern->period *= (size_t)pattern->stride;

    pattern->reduced = xcalloc(pattern->period, sizeof *pattern->reduced);
    for (i = 0; i < pattern->period; i++) {
        pattern->reduced[i] = pattern_value(pattern, 0, i);
        for (rank = 1; rank < ranks; rank++) {
            const int64_t value = pattern_value(pattern, rank, i);

            dtype_reduce(DTYPE_INT64, op, &pattern->reduced[i], &pattern->reduced[i], &value,
                         1);
        }
    }
}

static int divide_up(int a, int b)
{
    return (a + b - 1) / b;
}

static int largest_prime(int64_t limit)
{
    int n = limit < MODULUS_MAX ? (int)limit : MODULUS_MAX, divisor;

    for (; n > 2; n--) {
        for (divisor = 2; divisor * divisor <= n && n % divisor != 0; divisor++)
            ;
        if (divisor * divisor > n)
            return n;
    }
    return n;
}

void pattern_clear(struct pattern *pattern)
{
    free(pattern->reduced);
    *pattern = (struct pattern){ 0 };
}

int64_t pattern_value(const struct pattern *pattern, int rank, size_t i)
{
    const size_t at = (size_t)rank + i % pattern->period;
    const bool   contributes = at % (size_t)pattern->stride == 0;

    if (pattern->op == REDOP_PROD)
        return contributes ? 2 : 1;
    if (!contributes)
        return 0;
    return 1 + (int64_t)((i * 7 + (size_t)rank * 13) % (size_t)pattern->modulus);
}

int64_t pattern_reduced(const struct pattern *pattern, size_t i)
{
    return pattern->reduced[i % pattern->period];
}
