/* history.h - the runs that are kept (run_dir.h), for muster attach, status and stop
 *
 * Whether one goes on is told by its launcher's lock, so a run that is dead never looks
 * alive. A home may be shared: what another machine has launched and not ended is elsewhere.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HISTORY_H
#define MUSTER_HISTORY_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <jansson.h>

#include "err.h"
#include "options/options.h"

enum past_run_state {
    PAST_RUN_GOING,
    PAST_RUN_ENDED,     /* there is a result */
    PAST_RUN_DIED,      /* there is none, and no launcher */
    PAST_RUN_ELSEWHERE, /* only the machine that launched it knows */
};

struct past_run {
    char               *id;
    int                 dir_fd;
    enum past_run_state state;
    pid_t               launcher;      /* PAST_RUN_GOING; -1: not to be seen from here */
    json_t             *plan, *result; /* plan.json, past_run_result(); NULL: there is none */
};

struct history {
    char            *dir; /* where they are */
    struct past_run *run; /* the newest first */
    size_t           count;
};

/* All of them; none is no error. -1 with err. */
int  history_read(struct history *list, struct error *err);
void history_clear(struct history *list);

/* The one that word is the id or the name of, or else a part of the id of; of several the one
 * that goes on. NULL with err: there is none, or more than one. */
struct past_run *history_find(const struct history *list, const char *word, struct error *err);

/* Of the launcher, by plan.json: "host", "start", "detached", "grace_s"; NULL: unknown. */
const json_t *past_run_launcher(const struct past_run *run, const char *key);
const char   *past_run_host(const struct past_run *run); /* "another machine", if unknown */

/* The directory of a run; -1 with err. */
int past_run_open(const char *id, struct error *err);

/* result.json of a run in that directory, with an exit status; NULL: there is none, or what
 * is there makes no sense. */
json_t *past_run_result(int dir_fd);

/* Send a signal to the launcher of a run. 0: it has got it, or has ended. -1 with err. */
int past_run_signal(const struct past_run *run, int number, struct error *err);

/* Ask the launcher to bring status.json up to date, and wait for that, a second at most: it may
 * be busy, or an older muster. */
void past_run_refresh(const struct past_run *run);

/* Rows for people: one a run, or a line that there is none. */
void history_print(const struct history *list, FILE *out);

#endif
