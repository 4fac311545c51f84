/* spawn.h - what one process is started from, and its way to execve()
 *
 * The agent knows it, the guard starts it. Arguments and environment may be
 * larger than any packet, so they travel in a sealed memfd that goes with the
 * descriptors; the child maps it and calls execve() with pointers into it:
 * nothing is quoted, parsed or cut on the way.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SPAWN_H
#define MUSTER_AGENT_SPAWN_H

#include <sched.h>
#include <stddef.h>

#include "err.h"
#include "guard/cgroup.h"
#include "strlist.h"

/* The descriptor at which a rank finds its PMI socket. Not a low one: shell
 * scripts take 3 to 9 for themselves without asking. */
#define SPAWN_PMI_FD 19

/* Descriptors that go with a spawn, in this order; the last may be absent. */
enum { SPAWN_FD_SPEC, SPAWN_FD_STDOUT, SPAWN_FD_STDERR, SPAWN_FD_PMI, SPAWN_FDS };

struct spawn {
    const char           *path; /* what to execute; argv[0] may say otherwise */
    const char           *cwd;  /* NULL: stay */
    const struct strlist *argv, *env;
    const cpu_set_t      *cpus; /* NULL: no binding */
    size_t                cpus_size;
};

/* What the child was doing when it failed. */
enum spawn_step { SPAWN_OK, SPAWN_JOIN, SPAWN_PREPARE, SPAWN_CHDIR, SPAWN_BIND, SPAWN_EXEC };

struct spawn_failure {
    int step; /* enum spawn_step */
    int error; /* errno */
};

/* All of it in a memfd. The descriptor, or -1 with err. */
int spawn_pack(const struct spawn *spawn, struct error *err);

/* In the child: become the process. parent: who must still be there once the
 * child has asked to die with it. Comes back only when it failed. */
struct spawn_failure spawn_exec(const int fds[SPAWN_FDS], pid_t parent,
                                const struct cgroup *cgroup);

/* "cannot execute /a/b: Permission denied", and the exit status for it. */
int spawn_explain(const struct spawn_failure *failure, const char *path, const char *cwd,
                  struct error *err);

#endif
