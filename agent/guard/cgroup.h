/* cgroup.h - a control group for the ranks of one run
 *
 * It is made below the group that this process is in, if that is writable: in version 2
 * (also beside version 1, in "hybrid" set-ups), else in the freezer of version 1.
 * Everything that the ranks start is in it, so one write kills all of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CGROUP_H
#define MUSTER_AGENT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CGROUP_PREFIX  "muster-" /* of its name; the run's id and the pid of its maker follow */

struct cgroup {
    char path[512]; /* "": there is none */
    int  lock_fd;   /* held while its maker lives: the group is in use; 0: nothing can be locked */
    bool takes_forks; /* cgroup_fork() puts the child there */
};

/* Create it for that run. False, with path "", if this node does not allow it. */
bool cgroup_make(struct cgroup *cgroup, const char *run_id);

/* The calling process joins it. False with errno; true if there is no group. */
bool cgroup_enter(const struct cgroup *cgroup);

/* Like fork(), for a child that sets itself up and calls execve: libc does not know of it. It is in
 * the group, or has to join it: takes_forks says which. */
pid_t cgroup_fork(struct cgroup *cgroup);

/* Kill everything in it and in the groups below it. */
void cgroup_kill(const struct cgroup *cgroup);
bool cgroup_is_empty(const struct cgroup *cgroup);
bool cgroup_remove(struct cgroup *cgroup); /* false: it still exists */

/* Is this (up to its end or a slash) the name of such a group, and of which run? */
bool cgroup_name(const char *name, char *run_id, size_t size);

/* The pid in such a name: of the process that made the group, in that one's PID namespace. */
pid_t cgroup_maker(const char *name);

/* The run in whose group a process is, into run_id: changing its environment, parent or name
 * does not get a process out of that. False: none. */
bool cgroup_run_of(pid_t pid, char *run_id, size_t size);

/* For the directory of a group whose maker does not live: a descriptor, and until that is closed
 * no maker can take the group. Who is to remove it holds it alone: else its name could mean a group
 * made anew. 0: it is in use, or gone. */
int cgroup_hold_unused(const char *path, bool alone);

/* The directory of this process's own cgroup for a version-1 controller
 * ("freezer", "memory") or, controller "", of version 2. False: none. */
bool cgroup_own(const char *controller, char *path, int size);

/* The path of that group relative to its controller's directory, from the text of
 * /proc/self/cgroup, which is modified. NULL: none. */
char *cgroup_path_in(char *text, const char *controller);

#endif
