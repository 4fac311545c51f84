/* run_dir.h - the directory of a run: $XDG_STATE_HOME/muster/runs/<run id>/
 *
 *     plan.json       who ran where, who launched it, with which options; names of
 *                     variables, never their values
 *     log             every change of state, at the level of -v; locked by the launcher
 *                     while it lives
 *     status.json     the present state, while the run is active (run_status.c)
 *     stdout, stderr  with --detach: what a terminal would have shown
 *     result.json     how each rank ended, as --json
 *     stacks.txt      where the ranks were when the run hung, or muster stacks last asked
 *     stacks.json     the same for programs
 *     flight_recorder.json  the last collectives of each rank (outcome/flight_records.h)
 *     events.log      what the program of --on-event printed (hook/event_log.h)
 *     control         while the run is active: a socket for muster drain (control.h)
 *     shards          which shards of data its ranks have read (shards/shards.h)
 *     next            a link to the first run that continued these shards (--shards-resume)
 *
 * The directory answers questions after the run, and serves muster attach, status and stop
 * (history.h). muster keeps the last RUN_DIR_MOST runs and all active ones; `muster exec` has
 * no directory. Directories are 0700.
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
#define RUN_DIR_GENERATIONS (1 << 20) /* maximum number of generations of a run */
#define RUN_DIR_NEW       ".new" /* suffix of a file that is being written */
#define RUN_DIR_NAME_SIZE 32     /* holds the longest file name */
#define RUN_DIR_CONTROL   "control"
#define RUN_DIR_STACKS    "stacks.txt"
#define RUN_DIR_STACKS_JSON "stacks.json"
#define RUN_DIR_FLIGHT    "flight_recorder.json"
#define RUN_DIR_NEXT      "next"
#define RUN_DIR_LINE_MAX   (64 << 10) /* bytes of a request, with the newline */
#define RUN_DIR_ANSWER_MAX 1100       /* bytes of the answer */

struct run_dir {
    char          *path; /* NULL: there is none */
    int            fd;   /* descriptor of the directory */
    int            log_fd;
    struct writer *log; /* the thread that writes to log_fd */
    json_t        *cost; /* cost so far of a resumed run; NULL: not known */
};

/* Makes the directory (or takes that of the resumed run), locks it, writes plan.json, copies
 * the log to it, and removes older directories. -1 with err if it cannot be made: the run works
 * without it. */
int run_dir_open(struct run_dir *dir, const struct plan *plan, const struct options *options,
                 struct error *err);

/* Writes result.json, and removes status.json. -1 with err. */
int run_dir_result(const struct run_dir *dir, const json_t *result, struct error *err);

/* Writes stacks.txt, and the same as JSON (NULL: not) to stacks.json, and replaces earlier ones. -1
 * with err. */
int run_dir_stacks(const struct run_dir *dir, const char *text, size_t size, const json_t *json,
                   struct error *err);

/* Writes flight_recorder.json, and replaces an earlier one; records NULL: writes nothing. -1 with
 * err. Releases records. */
int run_dir_flight(const struct run_dir *dir, json_t *records, struct error *err);

/* Ends the log in the directory, and releases the lock. The directory stays. */
void run_dir_close(struct run_dir *dir);

/* Removes the oldest runs beyond RUN_DIR_MOST, if they have ended. but: our own run, whose
 * files we must not even open, since closing a file releases the lock that a process has on
 * it. */
void run_dir_remove_old(const char *runs, const char *but);

/* For any caller with a descriptor of a run directory: */

/* Makes all directories above path, except the home. -1 with err. */
int run_dir_make_above(const char *path, struct error *err);
/* Returns the process that holds the lock: the launcher, while it lives. 0: no process; -1: a
 * process whose pid is not visible here. A pid in a file is not enough, since pids are
 * reused. */
pid_t run_dir_launcher(int dir_fd);
/* Replaces a file atomically. May be called from any thread. -1: errno. */
int run_dir_write(int dir_fd, const char *name, const char *text, size_t size);
/* Reads a JSON file. NULL: it is missing or invalid. */
json_t *run_dir_read(int dir_fd, const char *name);
/* Sets name to the address of the control socket; it is short, however deep the directory
 * is. */
void run_dir_control(int dir_fd, struct sockaddr_un *name);
/* Sets name to the name of this machine, as in plan.json. */
void run_dir_host(char name[RUN_DIR_HOST_SIZE]);

#endif
