/* stale_files.h - what is left on a node of muster's own when it was killed there
 *
 *     group  a control group without processes, whose guard is dead
 *     file   a part of muster-agent, whose sending broke off
 *
 * All of it belongs to this user and takes next to no room, but stays until somebody
 * removes it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STALE_FILES_H
#define MUSTER_AGENT_STALE_FILES_H

#include <stdbool.h>

#include <jansson.h>

#define STALE_FILES_MAX 256 /* things reported, and removed, at a time */

/* [{"what":"group", "path":"/sys/fs/cgroup/...", "gone":false}, ...] remove: it is tried,
 * and gone says whether. */
json_t *stale_files_list(bool remove);

/* Only control groups, and without a word. */
void stale_files_remove_groups(void);

#endif
