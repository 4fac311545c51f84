/* own_limits.c - see own_limits.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/own_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

/* To the kernel 1 means: no core file, and no program that gets one. 0 would
 * still allow the program. */
#define NO_CORE 1

static struct {
    bool          is_changed;
    struct rlimit was;
} descriptors, core;

void own_limits_set(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &descriptors.was) == 0) {
        limit = descriptors.was;
        limit.rlim_cur = limit.rlim_max;
        descriptors.is_changed = setrlimit(RLIMIT_NOFILE, &limit) == 0;
    }
    if (getrlimit(RLIMIT_CORE, &core.was) == 0) {
        limit = core.was;
        limit.rlim_cur = limit.rlim_max < NO_CORE ? limit.rlim_max : NO_CORE;
        core.is_changed = setrlimit(RLIMIT_CORE, &limit) == 0;
    }
}

void own_limits_undo(void)
{
    if (descriptors.is_changed)
        setrlimit(RLIMIT_NOFILE, &descriptors.was);
    if (core.is_changed)
        setrlimit(RLIMIT_CORE, &core.was);
}
