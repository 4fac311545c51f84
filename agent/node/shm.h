/* shm.h - files that crashed programs have left in /dev/shm
 *
 * NCCL and PyTorch share memory between the ranks of a node by files there, and remove
 * them when they exit normally. A killed rank leaves them, gigabytes in all, until a
 * later run finds no space.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SHM_H
#define MUSTER_AGENT_SHM_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define SHM_FILES_MAX 256 /* examined at most */

/* Returns the free bytes; 0 if there is no /dev/shm. */
int64_t shm_free(void);

/* Lists files of NCCL and PyTorch that no process has open or mapped: [{"name":"nccl-x",
 * "uid":N, "user":"ann", "size":N, "inode":N}, ...]. Users other than root cannot see all
 * processes: for them the list is only right with only_ours. */
json_t *shm_stale(bool only_ours);

/* Removes one of these files, if it is ours and still the same file. */
bool shm_remove(const json_t *file);

#endif
