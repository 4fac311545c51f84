/* history.h - finds past and present runs by their directories (run_dir.h), for muster attach,
 * status and stop
 *
 * A run is active as long as its launcher holds a lock, so a dead run never looks alive. If
 * machines share a home, a run that another machine has launched and that has no result is
 * "elsewhere".
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
    PAST_RUN_DIED,      /* there is neither a result nor a launcher */
    PAST_RUN_ELSEWHERE, /* only the machine that launched it knows its state */
};

struct past_run {
    char               *id;
    int                 dir_fd;
    enum past_run_state state;
    pid_t               launcher;      /* for PAST_RUN_ACTIVE; -1: its pid is not visible
                                          here */
    json_t             *plan, *result; /* plan.json, past_run_result(); NULL: there is none */
};

struct history {
    char            *dir; /* the directory of all runs */
    struct past_run *run; /* the newest first */
    size_t           count;
};

/* Reads all runs. It is no error if there are none. -1 with err. */
int  history_read(struct history *list, struct error *err);
void history_clear(struct history *list);

/* Returns the run whose id or name is word, else the run whose id contains word. If several
 * match, an active one wins. NULL with err: no run matches, or more than one. */
struct past_run *history_find(const struct history *list, const char *word, struct error *err);

/* The same for a run that should be over. A killed launcher keeps its lock until the last of
 * its threads is gone, so this waits a moment if the run is active. */
struct past_run *history_find_over(const struct history *list, const char *word,
                                   struct error *err);

/* Waits at most this many seconds until the run's launcher is gone. False: it still lives. */
bool past_run_await(const struct past_run *run, double seconds);

/* Returns a field about the launcher from plan.json: "host", "start", "detached", "grace_s";
 * NULL: unknown. */
const json_t *past_run_launcher(const struct past_run *run, const char *key);
const char   *past_run_host(const struct past_run *run); /* "another machine" if unknown */

/* Opens the directory of a run; -1 with err. */
int past_run_open(const char *id, struct error *err);

/* Reads result.json, with an exit status, of the run in that directory; NULL: it is missing or
 * invalid. */
json_t *past_run_result(int dir_fd);

/* Sends a signal to the launcher of a run. 0: it was sent, or the launcher is gone. -1 with
 * err. */
int past_run_signal(const struct past_run *run, int number, struct error *err);

/* Sends a line (without its newline) to the launcher of a run, and waits limit_s for its answer:
 * PAST_RUN_ANSWER_S, since its event loop never blocks this long, and more if it asks the nodes.
 * 0: the launcher obeys; answer is its text. -1 with err: it cannot be reached, or refuses.
 * ask.c */
#define PAST_RUN_ANSWER_S 10
int past_run_ask(const struct past_run *run, const char *line, int limit_s, char *answer,
                 size_t size, struct error *err);

/* Asks the launcher to update status.json, and waits at most a second for it: the launcher may
 * be busy, or an older version. */
void past_run_refresh(const struct past_run *run);

#endif
