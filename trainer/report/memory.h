/* memory.h - how much of the host's memory this process uses
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MEMORY_H
#define MUSTER_MEMORY_H

/* In MiB. 0: the kernel does not report it. */
struct memory {
    double now, most;
};

struct memory memory_in_use(void);

#endif
