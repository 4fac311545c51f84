/* shm.h - what crashed programs have left in /dev/shm
 *
 * NCCL and PyTorch share memory between the ranks of a node by files there, and
 * remove them at an orderly end. A killed rank leaves them, gigabytes in all, until
 * a later one finds no room.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SHM_H
#define MUSTER_AGENT_SHM_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define SHM_FILES_MAX 256 /* looked at */

/* Bytes that are free there; 0 where there is none. */
int64_t shm_free(void);

/* Those files of NCCL and PyTorch that no process has open or mapped:
 * [{"name":"nccl-x", "uid":N, "user":"ann", "size":N,
 * "inode":N}, ...]. Root sees everybody's
 * processes, others only their own: so for them only_ours is the truth. */
json_t *shm_stale(bool only_ours);

/* Remove one of them, if it is ours and still the one it was. */
bool shm_remove(const json_t *file);

#endif
