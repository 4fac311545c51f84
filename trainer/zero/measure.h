/* measure.h - how large gradients are, and whether they are numbers at all
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MEASURE_H
#define MUSTER_MEASURE_H

#include <stddef.h>

#include "comm/dtype.h"

/* The sum of the squares, in double: not finite if and only if one of the elements is
 * not, since no square of a float overflows there. The same for any number of threads.
 * type is float, half or bfloat16. */
double measure_squares(enum dtype type, const void *grad, size_t count);

/* The last element that is not finite, or count. */
size_t measure_last_bad(enum dtype type, const void *grad, size_t count);

#endif
