/* cgroup.h - a control group for the ranks of one run
 *
 * It is created below the group of this process, if that is writable: in version 2 (also
 * beside version 1, in "hybrid" set-ups), else in the freezer of version 1. It contains every
 * process that the ranks start, so one write kills all of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CGROUP_H
#define MUSTER_AGENT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CGROUP_PREFIX  "muster-" /* followed by the run's id and the pid of its maker */

struct cgroup {
    char path[512]; /* "": there is none */
    int  lock_fd;   /* locked while its maker lives: the group is in use; 0: no locks here */
    bool takes_forks; /* cgroup_fork() creates the child in the group */
};

/* Creates the group for a run. False, with path "", if this node does not allow it. */
bool cgroup_make(struct cgroup *cgroup, const char *run_id);

/* Moves the calling process into the group. False with errno; true if there is no group. */
bool cgroup_enter(const struct cgroup *cgroup);

/* Like fork(), for a child that sets itself up and calls execve: libc does not know of the
 * child. If takes_forks, the child is in the group, else it must enter the group. */
pid_t cgroup_fork(struct cgroup *cgroup);

/* Kills everything in the group and in the groups below it. */
void cgroup_kill(const struct cgroup *cgroup);
bool cgroup_is_empty(const struct cgroup *cgroup);
bool cgroup_remove(struct cgroup *cgroup); /* false: it still exists */

/* Is name (up to its end or a slash) the name of a run's group? If so, copies the run's id. */
bool cgroup_name(const char *name, char *run_id, size_t size);

/* Returns the pid in a group's name: of the process that made the group, in the PID
 * namespace of that process. */
pid_t cgroup_maker(const char *name);

/* Finds the run in whose group a process is: a process cannot leave the group by changing its
 * environment, parent or name. False: none. */
bool cgroup_run_of(pid_t pid, char *run_id, size_t size);

/* Returns a descriptor for the directory of a group whose maker is dead. Until it is closed, no
 * maker can take the group. To remove the group, hold it alone: otherwise its name could mean a
 * new group. 0: the group is in use, or gone. */
int cgroup_hold_unused(const char *path, bool alone);

/* Finds the directory of this process's own cgroup for a version-1 controller ("freezer",
 * "memory") or, if controller is "", of version 2. False: none. */
bool cgroup_own(const char *controller, char *path, int size);

/* Returns the path of a group relative to its controller's directory, from the text of
 * /proc/self/cgroup, which is modified. NULL: none. */
char *cgroup_path_in(char *text, const char *controller);

#endif
