/* no_leak_check.c - a sanitized agent does not look for leaks when it ends, unless it is asked
 *
 * The search takes 10 ms or more of each of thousands of agents that the tests start. The scripts
 * that talk to an agent without a launcher, and unit tests, ask for it with ASAN_OPTIONS.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

/* AddressSanitizer calls it, before it reads ASAN_OPTIONS. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
