/* stale_files.h - files of muster that are left on a node where it was killed
 *
 *     group      a control group without processes, whose guard is dead
 *     file       a part of muster-agent, from a copy that was interrupted; the notice file
 *                (MUSTER_NOTICE_FILE) of an agent that is dead
 *     directory  where an agent that is dead kept files of Open MPI (node/scratch.h)
 *
 * All of them belong to this user and take almost no space, but stay until they are removed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STALE_FILES_H
#define MUSTER_AGENT_STALE_FILES_H

#include <stdbool.h>

#include <jansson.h>

#define STALE_FILES_MAX 256 /* at most this many are reported, and removed, at a time */

/* Returns [{"what":"group", "path":"/sys/fs/cgroup/...", "gone":false}, ...]. remove: try to
 * remove each; gone says whether that worked. */
json_t *stale_files_list(bool remove);

/* Removes only control groups. True: a group of this run still exists though its guard has
 * exited, since one of its processes is not quite gone. Try again in a moment. */
bool stale_files_remove_groups(const char *run);

#endif
