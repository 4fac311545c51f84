/* wide_sum.h - sums in float of gradients in 16 bits
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WIDE_SUM_H
#define MUSTER_WIDE_SUM_H

#include <stdbool.h>
#include <stddef.h>

#include "comm/dtype.h"

/* Adds count elements of type half or bfloat16 to sum, or sets sum to them if is_first. */
void wide_sum(enum dtype type, float *sum, const void *more, size_t count, bool is_first);

#endif
