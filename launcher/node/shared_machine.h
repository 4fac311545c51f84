/* shared_machine.h - finds nodes of a run that are the same machine
 *
 * Programs tell machines apart by the kernel's boot id (which HELLO contains), and use shared
 * memory within one machine. UCX and NCCL then identify processes by their PIDs, which mean
 * nothing across PID namespaces. So the ranks of nodes on one machine get no PID namespace.
 * This does not help between containers, which already have PID namespaces.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SHARED_MACHINE_H
#define MUSTER_SHARED_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

struct node;

/* Call it when all nodes have answered. For each of count nodes: is another one the same
 * machine, and not in another container? Logs these nodes. Caller frees. */
bool *shared_machine_find(struct node *const *node, size_t count);

#endif
