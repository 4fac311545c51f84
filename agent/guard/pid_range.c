/* pid_range.c - see pid_range.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/pid_range.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fd.h"

#define PID_FIRST   300   /* the kernel keeps smaller ones for the start of a system */
#define PID_DEFAULT 32768 /* pid_max of a small machine */

static int within(int size, int salt);

int pid_range_here(int node_rank, int node_count)
{
    char text[32];
    long most = 0;

    if (fd_read_file("/proc/sys/kernel/pid_max", text, sizeof text) > 0)
        most = strtol(text, NULL, 10);
    if (most <= PID_FIRST || most > (1 << 22))
        most = PID_DEFAULT;
    return pid_range_before(node_rank, node_count, (int)getpid(), (int)most);
}

int pid_range_before(int node_rank, int node_count, int salt, int most)
{
    int count = node_count < most - PID_FIRST ? node_count : most - PID_FIRST;
    int each = (most - PID_FIRST) / count;

    return PID_FIRST + node_rank % count * each + within((each + 1) / 2, salt);
}

/* Returns a number from 0 to size - 1. Salts that are close to each other, as of two successive
 * runs, give numbers far apart: successive multiples of the golden ratio are. */
static int within(int size, int salt)
{
    uint32_t part = (uint32_t)salt * 2654435769u;

    return (int)((uint64_t)size * part >> 32);
}

void pid_range_enter(int before)
{
    char text[16];

    snprintf(text, sizeof text, "%d", before);
    fd_write_file("/proc/sys/kernel/ns_last_pid", text);
}
