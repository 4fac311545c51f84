/* retry.c - see retry.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/retry.h"

#include <stdint.h>

#include <event2/util.h>

#define PAUSE_MIN_S 0.2

double retry_pause_s(int retried, int retries, double longest_s)
{
    double   longest = longest_s / (1 << (retries - 1 - retried));
    uint32_t random;

    if (longest < PAUSE_MIN_S)
        longest = PAUSE_MIN_S;
    evutil_secure_rng_get_bytes(&random, sizeof random);
    return PAUSE_MIN_S + (longest - PAUSE_MIN_S) * (random / (double)UINT32_MAX);
}
