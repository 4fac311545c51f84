/* test_switch.c - the switches of an agent for tests: see agent/node/test_switch.h
 *
 * It comes before libagent.a, whose own test_switch.o is then not linked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "node/test_switch.h"

const char *test_switch(const char *name)
{
    return getenv(name);
}
