/* control.h - a socket in the run's directory, for muster drain and its kin; ask.c is the other end
 *
 * Whoever connects must be the user who started the run, or root: the directory is 0700, the socket
 * 0600, and the kernel tells the user id of the other end. One line comes in, words between
 * blanks; one line goes out, "ok ..." or "error ...", and the connection is closed. A line has a
 * bound and a deadline, and only a few connections are open at a time.
 *
 * Without a directory there is no socket: the run can do without.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CONTROL_H
#define MUSTER_CONTROL_H

#include <stddef.h>

#include <event2/event.h>

#include "err.h"
#include "history/run_dir.h"
#include "strlist.h"

struct control;

/* What can be asked for; the last row of a table has no name. */
struct control_verb {
    const char *name, *usage;
    size_t      words; /* at least, after its name */
    /* 0: it is done, as answer says (of RUN_DIR_ANSWER_MAX); -1 with err: not, and why. Both are
     * for the user. It may end the run, from the next turn of the event loop. */
    int (*take)(const struct strlist *words, char *answer, size_t size, void *arg,
                struct error *err);
};

/* The directory must stay. NULL: there is none, or no socket; the log says why. */
struct control *control_new(struct event_base *base, const struct run_dir *dir,
                            const struct control_verb *verbs, void *arg);
void            control_free(struct control *control); /* NULL is fine */

#endif
