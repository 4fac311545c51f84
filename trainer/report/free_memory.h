/* free_memory.h - how much more of the host's memory this process may use
 *
 * Pages of files that the kernel can drop count as free, and so does swap: what is more than that
 * ends by the kernel's OOM killer.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FREE_MEMORY_H
#define MUSTER_FREE_MEMORY_H

#include <stdint.h>

#define FREE_MEMORY_UNKNOWN UINT64_MAX

/* In bytes. */
struct free_memory {
    uint64_t machine; /* FREE_MEMORY_UNKNOWN: the kernel does not report it */
    uint64_t group;   /* what the limits of this process's cgroups leave; without a limit unknown */
};

/* root: the directory in which proc and sys are, "" except in tests. */
struct free_memory free_memory_read(const char *root);

#endif
