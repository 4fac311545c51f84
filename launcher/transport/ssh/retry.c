/* retry.c - see retry.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/retry.h"

#include <stdint.h>
#include <string.h>

#include <event2/util.h>

#define PAUSE_MIN_S 0.2
#define PAUSE_MAX_S 6.0

static bool names_reason(const char *said);

bool retry_is_drop(const char *said)
{
    return strstr(said, "_exchange_identification") != NULL && !names_reason(said);
}

bool retry_may_be_drop(const char *said)
{
    return retry_is_drop(said) || said[0] == '\0' ||
           (strstr(said, "Connection closed by ") != NULL && !names_reason(said));
}

/* Does the text name a reason other than a drop? An ssh behind a jump host always reports that
 * its connection was closed; the ssh that is its proxy has reported the reason before. */
static bool names_reason(const char *said)
{
    static const char *const reasons[] = {
        "Permission denied", "verification failed", "Could not resolve", "onnection refused",
        "timed out", "No route to host", "unreachable", "open failed", "onfiguration option",
    };
    size_t i;

    for (i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strstr(said, reasons[i]) != NULL)
            return true;
    return false;
}

double retry_pause_s(int retried)
{
    double   longest = PAUSE_MAX_S / (1 << (RETRY_TIMES - 1 - retried));
    uint32_t random;

    if (longest < PAUSE_MIN_S)
        longest = PAUSE_MIN_S;
    evutil_secure_rng_get_bytes(&random, sizeof random);
    return PAUSE_MIN_S + (longest - PAUSE_MIN_S) * (random / (double)UINT32_MAX);
}
