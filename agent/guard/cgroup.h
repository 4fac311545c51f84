/* cgroup.h - a cgroup of our own for the ranks of one run
 *
 * Below the cgroup that this process is in, where that is writable: version 2
 * (also beside version 1, in "hybrid" set-ups), else the freezer of version 1.
 * Whatever the ranks start is in it, so everything can be killed in one go.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CGROUP_H
#define MUSTER_AGENT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CGROUP_PREFIX  "muster-" /* of its name; then the run's id, and the number of its maker */

struct cgroup {
    char path[512]; /* "": there is none */
    int  lock_fd;   /* held for as long as its maker lives: it is in use; 0: none */
};

/* Create it, for that run. False, with path "", where that cannot be. */
bool cgroup_make(struct cgroup *cgroup, const char *run_id);

/* The calling process joins. False with errno; where there is none that is no failure. */
bool cgroup_enter(const struct cgroup *cgroup);

/* With all groups that were made below it. */
void cgroup_kill(const struct cgroup *cgroup);
bool cgroup_is_empty(const struct cgroup *cgroup);
bool cgroup_remove(struct cgroup *cgroup); /* false: it is still there */

/* Is it such a name (up to its end or a slash), and of which run? */
bool cgroup_name(const char *name, char *run_id, size_t size);

/* The run in whose cgroup a process is, into run_id: nobody gets out of that by changing
 * its environment, its parent or its name. False: none. */
bool cgroup_run_of(pid_t pid, char *run_id, size_t size);

/* True for a directory that somebody made here who still lives. */
bool cgroup_is_in_use(const char *path);

/* The directory of this process's own cgroup for a version-1 controller
 * ("freezer", "memory") or, controller "", of version 2. False: none. */
bool cgroup_own(const char *controller, char *path, int size);

/* The same's path below the controller's own directory, from the text of /proc/self/cgroup,
 * which is cut up. NULL: none. */
char *cgroup_path_in(char *text, const char *controller);

#endif
