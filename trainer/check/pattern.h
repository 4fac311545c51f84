/* pattern.h - numbers for collectives, whose results are known exactly
 *
 * Every element of every rank is a small integer, chosen so that all partial results of a
 * reduction are exact in the element type, in any order. So the check needs no tolerance: a
 * result is either equal or wrong. The numbers repeat with a prime period, so the check notices
 * data that is misplaced by a power of two.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PATTERN_H
#define MUSTER_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"

struct pattern {
    enum redop op;
    int        ranks;
    int        modulus; /* the numbers are 1 to modulus */
    int        stride;  /* only one of this many ranks contributes to an element */
    size_t     period;
    int64_t   *reduced; /* the reduction's result for each element of a period */
};

/* Makes a pattern for a reduction with op over this many ranks. Free with pattern_clear(). */
void pattern_make(struct pattern *pattern, enum dtype type, enum redop op, int ranks);
void pattern_clear(struct pattern *pattern);

/* Return element i of a rank, and of the reduction over all ranks. */
int64_t pattern_value(const struct pattern *pattern, int rank, size_t i);
int64_t pattern_reduced(const struct pattern *pattern, size_t i);

#endif
