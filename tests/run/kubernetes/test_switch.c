/* test_switch.c - the switches of a muster-k8s that only tests run
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/test_switch.h"

#include <stdlib.h>

const char *test_switch(const char *name)
{
    return getenv(name);
}
