/* pid_range.h - where the process numbers of a node begin
 *
 * In a PID namespace of its own every node would number its ranks 2, 3 ..., every time. But
 * programs take such a number for one that only they have: they name files on a shared disk by
 * it, and shared memory. So each node of a run has a range of its own, as far apart as the
 * kernel's numbers allow, and begins somewhere in its first half.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PID_RANGE_H
#define MUSTER_AGENT_PID_RANGE_H

/* The number before the first one here, or where numbers are less than most. salt: differs from
 * run to run. */
int pid_range_here(int node_rank, int node_count);
int pid_range_before(int node_rank, int node_count, int salt, int most);

/* The next process of the calling one's PID namespace gets the number after that. No harm if
 * the kernel does not let us. */
void pid_range_enter(int before);

#endif
