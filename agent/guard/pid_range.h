/* pid_range.h - where the process numbers of a node begin
 *
 * In a PID namespace of its own, every node would number its ranks 2, 3 ..., every time. But
 * programs rely on such a number being theirs alone: they name files on a shared disk after
 * it, and shared memory. So each node of a run has its own range, as far apart from the others
 * as the kernel's numbers allow, and begins somewhere in the first half of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PID_RANGE_H
#define MUSTER_AGENT_PID_RANGE_H

/* Returns the number before the first one of this node, or of a node where numbers are less
 * than most. salt: differs from run to run. */
int pid_range_here(int node_rank, int node_count);
int pid_range_before(int node_rank, int node_count, int salt, int most);

/* Makes the kernel number the next process of the caller's PID namespace before + 1. It does no
 * harm if the kernel does not allow that. */
void pid_range_enter(int before);

#endif
