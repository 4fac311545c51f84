/* run_dir.h - what is kept of a run: $XDG_STATE_HOME/muster/runs/<run id>/
 *
 *     plan.json       who ran where, and who launched it; names of variables, never their
 *                     values
 *     log             every change of state, at the level of -v; locked by the launcher for
 *                     as long as it lives
 *     status.json     how it stands, while it goes on (run_status.c)
 *     stdout, stderr  with --detach: what a terminal would have got
 *     result.json     how each rank ended, as --json
 *     stacks.txt      where the ranks were when the run hung
 *
 * For the question that comes the day after, and for muster attach, status and stop
 * (history.h). The last RUN_DIR_KEPT runs stay, and all that go on; `muster exec` leaves none.
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

#define RUN_DIR_KEPT      20
#define RUN_DIR_HOST_SIZE 256
#define RUN_DIR_NEW       ".new" /* behind the name of a file that is being written */
#define RUN_DIR_NAME_SIZE 32     /* holds the longest of them */

struct run_dir {
    char          *path; /* NULL: there is none */
    int            fd;   /* of the directory */
    int            log_fd;
    struct writer *log; /* the thread that writes there */
};

/* Make it, lock it, write plan.json, send the log there too, and remove older ones. -1
 * with err when it cannot be made: the run goes on without. */
int run_dir_open(struct run_dir *dir, const struct plan *plan, const struct options *options,
                 struct error *err);

/* result.json, and no status.json any more. -1 with err. */
int run_dir_result(const struct run_dir *dir, const json_t *result, struct error *err);

/* stacks.txt. -1 with err. */
int run_dir_stacks(const struct run_dir *dir, const char *text, size_t size, struct error *err);

/* Ends the log there, and its lock; the directory stays. */
void run_dir_close(struct run_dir *dir);

/* Remove what is beyond RUN_DIR_KEPT and over. but: our own, at which we must not even look,
 * since to close a file ends the lock that a process has on it. */
void run_dir_remove_old(const char *runs, const char *but);

/* For anybody with a descriptor of such a directory. */

/* $XDG_STATE_HOME/muster/runs; NULL without a home. Caller frees. */
char *run_dir_all(void);
/* Who holds the lock: the launcher, as long as it lives. 0: nobody; -1: a process that
 * cannot be seen from here. No pid in a file would tell, since pids are used again. */
pid_t run_dir_launcher(int dir_fd);
/* All of a file at once or not at all; may be called from any thread. -1: errno. */
int run_dir_write(int dir_fd, const char *name, const char *text, size_t size);
/* NULL: there is none, or it is not whole. */
json_t *run_dir_read(int dir_fd, const char *name);
/* The name of this machine, as plan.json has it. */
void run_dir_host(char name[RUN_DIR_HOST_SIZE]);

#endif
