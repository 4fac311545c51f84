/* run_dir.h - what is kept of a run: $XDG_STATE_HOME/muster/runs/<run id>/
 *
 *     plan.json       who ran where, and who launched it; names of variables, never their
 *                     values
 *     log             every change of state, at the level of -v; locked by the launcher for
 *                     as long as it lives
 *     status.json     how it stands, while it goes on (live.c)
 *     stdout, stderr  with --detach: what a terminal would have got
 *     result.json     how each rank ended, as --json
 *     stacks.txt      where the ranks were when the run hung
 *
 * For the question that comes the day after, and for muster attach, status and stop
 * (kept.h). The last RUNDIR_KEPT runs stay, and all that go on; `muster exec` leaves none.
 * Directories are 0700.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_DIR_H
#define MUSTER_RUN_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#include "err.h"
#include "options/options.h"
#include "output/writer.h"
#include "plan/plan.h"

#define RUNDIR_KEPT      20
#define RUNDIR_HOST_SIZE 256
#define RUNDIR_NEW       ".new" /* behind the name of a file that is being written */
#define RUNDIR_NAME_SIZE 32     /* holds the longest of them */

struct rundir {
    char *path; /* NULL: there is none */
    int   fd;   /* of the directory */
    int   log_fd;
    struct writer *log; /* the thread that writes there */
};

/* Make it, lock it, write plan.json, send the log there too, and remove older ones. -1
 * with err when it cannot be made: the run goes on without. */
int rundir_open(struct rundir *dir, const struct plan *plan, const struct options *options,
                struct error *err);

/* result.json, and no status.json any more. -1 with err. */
int rundir_result(const struct rundir *dir, const json_t *result, struct error *err);

/* stacks.txt. -1 with err. */
int rundir_stacks(const struct rundir *dir, const char *text, size_t size, struct error *err);

/* Ends the log there, and its lock; the directory stays. */
void rundir_close(struct rundir *dir);

/* Remove what is beyond RUNDIR_KEPT and over. but: our own, at which we must not even look,
 * since to close a file ends the lock that a process has on it. */
void rundir_remove_old(const char *runs, const char *but);

/* For anybody with a descriptor of such a directory. */

/* $XDG_STATE_HOME/muster/runs; NULL without a home. Caller frees. */
char *rundir_all(void);
/* Who holds the lock: the launcher, as long as it lives. 0: nobody; -1: a process that
 * cannot be seen from here. No pid in a file would tell, since pids are used again. */
pid_t rundir_launcher(int dir_fd);
/* All of a file at once or not at all; may be called from any thread. -1: errno. */
int rundir_write(int dir_fd, const char *name, const char *text, size_t size);
/* NULL: there is none, or it is not whole. */
json_t *rundir_read(int dir_fd, const char *name);
/* The name of this machine, as plan.json has it. */
void rundir_host(char name[RUNDIR_HOST_SIZE]);

#endif
