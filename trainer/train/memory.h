/* memory.h - how much of the host's memory this process has
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MEMORY_H
#define MUSTER_MEMORY_H

/* MiB. 0: the kernel does not tell. */
struct memory {
    double now, most;
};

struct memory memory_in_use(void);

#endif
