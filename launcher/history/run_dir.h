/* run_dir.h - the directory of a run: $XDG_STATE_HOME/muster/runs/<run id>/
 *
 *     plan.json       who ran where, and who launched it, with which options; names of
 *                     variables, never their values
 *     log             every change of state, at the level of -v; locked by the launcher
 *                     while it lives
 *     status.json     how it stands, while it is running (run_status.c)
 *     stdout, stderr  with --detach: what a terminal would have got
 *     result.json     how each rank ended, as --json
 *     stacks.txt      where the ranks were when the run hung
 *     control         while it is running: a socket for muster drain (control.h)
 *     shards          which shards of data its ranks have read (shards/shards.h)
 *     next            a link: the run that went on with those first (--shards-resume)
 *
 * For questions on the day after, and for muster attach, status and stop (history.h). The last
 * RUN_DIR_MOST runs stay, and all that are active; `muster exec` has none. Directories are 0700.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_DIR_H
#define MUSTER_RUN_DIR_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include <jansson.h>

#include "err.h"
#include "options/options.h"
#include "output/writer.h"
#include "plan/plan.h"

#define RUN_DIR_MOST      20
#define RUN_DIR_HOST_SIZE 256
#define RUN_DIR_GENERATIONS (1 << 20) /* that a run may have */
#define RUN_DIR_NEW       ".new" /* after the name of a file that is being written */
#define RUN_DIR_NAME_SIZE 32     /* holds the longest of them */
#define RUN_DIR_CONTROL   "control"
#define RUN_DIR_NEXT      "next"
#define RUN_DIR_LINE_MAX   (64 << 10) /* bytes that can be said there, with the newline */
#define RUN_DIR_ANSWER_MAX 1100       /* and of the answer */

struct run_dir {
    char          *path; /* NULL: there is none */
    int            fd;   /* of the directory */
    int            log_fd;
    struct writer *log; /* the thread that writes there */
    json_t        *cost; /* of a run that is resumed, so far; NULL: not known */
};

/* Make it (or take that of the run that is resumed), lock it, write plan.json, send the log there
 * too, and remove older ones. -1 with err if it cannot be made: the run can do without. */
int run_dir_open(struct run_dir *dir, const struct plan *plan, const struct options *options,
                 struct error *err);

/* Write result.json, and remove status.json. -1 with err. */
int run_dir_result(const struct run_dir *dir, const json_t *result, struct error *err);

/* Write stacks.txt, in place of those of an earlier hang. -1 with err. */
int run_dir_stacks(const struct run_dir *dir, const char *text, size_t size, struct error *err);

/* End the log there, and the lock; the directory stays. */
void run_dir_close(struct run_dir *dir);

/* Remove the oldest beyond RUN_DIR_MOST, if they have ended. but: our own, which must not even be
 * looked at, since closing a file ends the lock that a process has on it. */
void run_dir_remove_old(const char *runs, const char *but);

/* For anyone with a descriptor of such a directory. */

/* Who holds the lock: the launcher, while it lives. 0: nobody; -1: a process that cannot be seen
 * from here. A pid in a file would not do, since pids are used again. */
pid_t run_dir_launcher(int dir_fd);
/* Write all of a file at once, or nothing; may be called from any thread. -1: errno. */
int run_dir_write(int dir_fd, const char *name, const char *text, size_t size);
/* NULL: there is none, or it is broken. */
json_t *run_dir_read(int dir_fd, const char *name);
/* The name of the control socket there; short, however deep the directory is. */
void run_dir_control(int dir_fd, struct sockaddr_un *name);
/* The name of this machine, as plan.json has it. */
void run_dir_host(char name[RUN_DIR_HOST_SIZE]);

#endif
