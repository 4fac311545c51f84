/* scramble.h - random numbers as a function of position
 *
 * splitmix64 maps neighbouring numbers to unrelated ones. It has no state, so the result does
 * not depend on the caller or on earlier calls.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SCRAMBLE_H
#define MUSTER_SCRAMBLE_H

#include <stdint.h>

static inline uint64_t scramble(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

#endif
