/* test_switch.c - no switches: see test_switch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/test_switch.h"

#include <stddef.h>

const char *test_switch(const char *name)
{
    (void)name;
    return NULL;
}
