/* rope.c - see rope.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/rope.h"

#include <math.h>
#include <stddef.h>

void rope_table(const struct rope *rope, int head_width, int length, double *table)
{
    const int half = head_width / 2;
    int       i, position;

    for (position = 0; position < length; position++) {
        for (i = 0; i < half; i++) {
            const double angle = position * pow(rope->theta, -2.0 * i / head_width);

            *table++ = cos(angle);
            *table++ = sin(angle);
        }
    }
}
