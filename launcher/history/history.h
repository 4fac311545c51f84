/* history.h - past and present runs, by their directories (run_dir.h), for muster attach, status
 * and stop
 *
 * A run is active as long as its launcher holds a lock, so a dead run never looks alive. If
 * machines share a home, a run that another machine has launched and not ended is elsewhere.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HISTORY_H
#define MUSTER_HISTORY_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#include "err.h"
#include "options/options.h"

enum past_run_state {
    PAST_RUN_ACTIVE,
    PAST_RUN_ENDED,     /* there is a result */
    PAST_RUN_DIED,      /* there is none, and no launcher */
    PAST_RUN_ELSEWHERE, /* only the machine that launched it knows */
};

struct past_run {
    char               *id;
    int                 dir_fd;
    enum past_run_state state;
    pid_t               launcher;      /* PAST_RUN_ACTIVE; -1: it cannot be seen from here */
    json_t             *plan, *result; /* plan.json, past_run_result(); NULL: there is none */
};

struct history {
    char            *dir; /* where they are */
    struct past_run *run; /* the newest first */
    size_t           count;
};

/* Read all of them; that there is none is no error. -1 with err. */
int  history_read(struct history *list, struct error *err);
void history_clear(struct history *list);

/* The run whose id or name word is, or else the one whose id it is a part of; of several the
 * active one. NULL with err: there is none, or more than one. */
struct past_run *history_find(const struct history *list, const char *word, struct error *err);

/* The same for who wants one that is over. The launcher of a run that was killed has its lock until
 * the last of its threads is gone: an active one gets a moment for that. */
struct past_run *history_find_over(const struct history *list, const char *word,
                                   struct error *err);

/* Wait for the end of its launcher, for so many seconds at most. False: it lives. */
bool past_run_await(const struct past_run *run, double seconds);

/* What plan.json says of the launcher: "host", "start", "detached", "grace_s"; NULL: unknown. */
const json_t *past_run_launcher(const struct past_run *run, const char *key);
const char   *past_run_host(const struct past_run *run); /* "another machine", if unknown */

/* The directory of a run; -1 with err. */
int past_run_open(const char *id, struct error *err);

/* result.json of a run in that directory, with an exit status; NULL: there is none, or it is
 * broken. */
json_t *past_run_result(int dir_fd);

/* Send a signal to the launcher of a run. 0: it has got it, or has ended. -1 with err. */
int past_run_signal(const struct past_run *run, int number, struct error *err);

/* Say a line (without its newline) to the launcher of a run, and wait for its answer, some seconds
 * at most. 0: it does so; answer says what. -1 with err: it cannot be reached, or refuses. ask.c */
int past_run_ask(const struct past_run *run, const char *line, char *answer, size_t size,
                 struct error *err);

/* Ask the launcher to bring status.json up to date, and wait for that, a second at most: it may
 * be busy, or an older muster. */
void past_run_refresh(const struct past_run *run);

#endif
