/* shared_machine.h - nodes of a run that are one machine
 *
 * Programs tell machines apart by the kernel's boot id, as HELLO has it, and use shared memory
 * within one. UCX and NCCL then name processes to each other by their numbers, which mean nothing
 * across PID namespaces: the ranks of such nodes get none. That is of no use between containers,
 * which have PID namespaces already.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SHARED_MACHINE_H
#define MUSTER_SHARED_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

struct node;

/* When all have answered: for each of count nodes whether another one is the same machine, and
 * not in another container. The log says so. Caller frees. */
bool *shared_machine_find(struct node *const *node, size_t count);

#endif
