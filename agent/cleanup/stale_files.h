/* stale_files.h - what muster itself has left on a node where it was killed
 *
 *     group  a control group without processes, whose guard is dead
 *     file   a part of muster-agent, from a copy that broke off; what an agent that is dead has
 *            told its ranks in a file, MUSTER_NOTICE_FILE
 *
 * All of it belongs to this user and takes almost no space, but stays until somebody
 * removes it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STALE_FILES_H
#define MUSTER_AGENT_STALE_FILES_H

#include <stdbool.h>

#include <jansson.h>

#define STALE_FILES_MAX 256 /* reported, and removed, at a time */

/* [{"what":"group", "path":"/sys/fs/cgroup/...", "gone":false}, ...]. remove: try to remove
 * each; gone says whether it worked. */
json_t *stale_files_list(bool remove);

/* Remove only control groups. True: one of this run is still there though its guard has ended,
 * since a process of it is not quite gone. Try again in a moment. */
bool stale_files_remove_groups(const char *run);

#endif
