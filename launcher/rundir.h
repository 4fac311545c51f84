/* rundir.h - what is kept of a run: $XDG_STATE_HOME/muster/runs/<run id>/
 *
 *     plan.json     who ran where; names of variables, never their values
 *     log           every change of state, at the level of -v
 *     result.json   how each rank ended, as --json
 *     stacks.txt    where the ranks were when the run hung
 *
 * For the question that comes the day after. The last RUNDIR_KEPT runs stay;
 * `muster exec` leaves none. Directories are 0700.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUNDIR_H
#define MUSTER_RUNDIR_H

#include <jansson.h>

#include "err.h"
#include "plan.h"

#define RUNDIR_KEPT 20

struct rundir {
    char *path; /* NULL: there is none */
    int   fd;   /* of the directory */
    int   log_fd;
};

/* Make it, write plan.json, send the log there too, and remove older ones. -1
 * with err when it cannot be made: the run goes on without. */
int rundir_open(struct rundir *dir, const struct plan *plan, struct error *err);

/* result.json. -1 with err. */
int rundir_result(const struct rundir *dir, const json_t *result, struct error *err);

/* stacks.txt. -1 with err. */
int rundir_stacks(const struct rundir *dir, const char *text, size_t size, struct error *err);

/* Ends the log there; the directory stays. */
void rundir_close(struct rundir *dir);

#endif
