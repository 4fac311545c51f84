/* measure.h - the norm of gradients, and the search for NaN and infinity in them
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MEASURE_H
#define MUSTER_MEASURE_H

#include <stddef.h>

#include "comm/dtype.h"

/* Returns the sum of the squares, in double. It is not finite if and only if an element is
 * not finite, because the square of a float does not overflow a double. The result is the
 * same for any number of threads. type is float, half or bfloat16. */
double measure_squares(enum dtype type, const void *grad, size_t count);

/* Returns the index of the last element that is not finite, or count. */
size_t measure_last_bad(enum dtype type, const void *grad, size_t count);

#endif
