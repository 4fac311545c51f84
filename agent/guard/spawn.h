/* spawn.h - everything that a process is started from, and how it gets to execve()
 *
 * The agent packs it, the guard starts it. Arguments and environment may be larger than any
 * packet, so they travel in a sealed memfd beside the descriptors. The child maps the memfd
 * and calls execve() with pointers into it: nothing is quoted, parsed or truncated.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SPAWN_H
#define MUSTER_AGENT_SPAWN_H

#include <sched.h>
#include <stddef.h>

#include "err.h"
#include "guard/cgroup.h"
#include "guard/go_env.h"
#include "strlist.h"

/* The descriptor of a rank's PMI socket. Not a low number: shell scripts use 3 to 9 freely. */
#define SPAWN_PMI_FD 19

/* Descriptors that a spawn request carries, in this order; the last may be absent. */
enum {
    SPAWN_FD_SPEC,
    SPAWN_FD_STDIN, /* a terminal: the process leads a session of its own there */
    SPAWN_FD_STDOUT,
    SPAWN_FD_STDERR,
    SPAWN_FD_PMI,
    SPAWN_FDS
};

struct spawn {
    const char           *path; /* the file to execute; argv[0] may differ */
    const char           *cwd;  /* NULL: unchanged */
    const struct strlist *argv, *env;
    const cpu_set_t      *cpus; /* NULL: no binding */
    size_t                cpus_size;
};

/* What the child was doing when it failed. */
enum spawn_step {
    SPAWN_OK,
    SPAWN_FORK, /* nothing: there is no child */
    SPAWN_JOIN,
    SPAWN_PREPARE,
    SPAWN_CHDIR,
    SPAWN_BIND,
    SPAWN_EXEC,
};

struct spawn_failure {
    int step; /* enum spawn_step */
    int error; /* errno */
};

/* Packs it into a memfd. Returns the descriptor, or -1 with err and errno. */
int spawn_pack(const struct spawn *spawn, struct error *err);

/* What the child must know about its guard. */
struct spawn_guard {
    pid_t                pid; /* must still live after the child asked to die with it */
    const struct cgroup *cgroup;
    int                  gate_fd; /* a pipe: before execve() the child waits until its other
                                     end is closed; -1: it does not wait. Above SPAWN_PMI_FD,
                                     as word_fd */
    int                  word_fd; /* the child writes SPAWN_OK here before it waits */
    struct go_env       *go_env;  /* added to the child's environment after it has waited */
};

/* Called in the child: sets it up, waits, executes the program. While it waits, TERM kills it.
 * Returns only if it failed. */
struct spawn_failure spawn_exec(const int fds[SPAWN_FDS], const struct spawn_guard *guard);

/* Sets err to a text like "cannot execute /a/b: Permission denied", and
 * returns the exit status for it. */
int spawn_explain(const struct spawn_failure *failure, const char *path, const char *cwd,
                  struct error *err);

#endif
