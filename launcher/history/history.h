/* history.h - the runs that are kept (rundir.h), for muster attach, status and stop
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

enum kept_state {
    KEPT_GOING,
    KEPT_ENDED,     /* there is a result */
    KEPT_DIED,      /* there is none, and no launcher */
    KEPT_ELSEWHERE, /* only the machine that launched it knows */
};

struct kept {
    char           *id;
    int             dir_fd;
    enum kept_state state;
    pid_t           launcher; /* KEPT_GOING; -1: not to be seen from here */
    json_t         *plan, *result; /* plan.json, kept_result(); NULL: there is none */
};

struct kept_list {
    char        *dir; /* where they are */
    struct kept *run; /* the newest first */
    size_t       count;
};

/* All of them; none is no error. -1 with err. */
int  kept_read(struct kept_list *list, struct error *err);
void kept_clear(struct kept_list *list);

/* The one that word is the id or the name of, or else a part of the id of; of several the one
 * that goes on. NULL with err: there is none, or more than one. */
struct kept *kept_find(const struct kept_list *list, const char *word, struct error *err);

/* Of the launcher, by plan.json: "host", "start", "detached", "grace_s"; NULL: unknown. */
const json_t *kept_launcher(const struct kept *run, const char *key);
const char   *kept_host(const struct kept *run); /* "another machine", if unknown */

/* The directory of a run; -1 with err. */
int kept_open(const char *id, struct error *err);

/* result.json of a run in that directory, with an exit status; NULL: there is none, or what
 * is there makes no sense. */
json_t *kept_result(int dir_fd);

/* Rows for people: one a run, or a line that there is none. */
void kept_print(const struct kept_list *list, FILE *out);

/* muster attach, status, stop; each returns its exit status. */
int kept_attach(const struct options *options);
int kept_status(const struct options *options);
int kept_stop(const struct options *options);

#endif
