/* control.h - a socket in the run directory for muster drain, scale, kill and stacks; ask.c is
 * the client
 *
 * Only the user of the run and root may connect: the directory is 0700, the socket 0600, and
 * the kernel reports the user id of the client. The client sends one line, words separated by
 * blanks. It gets one line, "ok ..." or "error ...", and the connection is closed. The size of
 * a line and the time for it are limited, and only a few connections are open at a time.
 *
 * Without a run directory there is no socket; the run works without it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CONTROL_H
#define MUSTER_CONTROL_H

#include <stddef.h>

#include <event2/event.h>

#include "err.h"
#include "history/run_dir.h"
#include "strlist.h"

#define CONTROL_LATER 1

struct control;

/* A request that clients can make; the last row of a table has no name. */
struct control_verb {
    const char *name, *usage;
    size_t      words; /* minimum number, without the name */
    /* Executes the request. 0 with answer (of RUN_DIR_ANSWER_MAX bytes); -1 with err. Both
     * texts are for the user. CONTROL_LATER: control_answer() will be called, within a time that
     * the client knows. It may end the run, but only in the next turn of the event loop. */
    int (*take)(const struct strlist *words, char *answer, size_t size, void *arg,
                struct error *err);
};

/* dir must outlive the result. NULL: there is no directory or no socket; the log says why. */
struct control *control_new(struct event_base *base, const struct run_dir *dir,
                            const struct control_verb *verbs, void *arg);
void            control_free(struct control *control); /* NULL is fine */

/* Answers all clients whose request of that name got CONTROL_LATER. rc: 0 or -1, whether text is
 * an answer or an error. control NULL: there are no clients. */
void control_answer(struct control *control, const char *name, int rc, const char *text);

#endif
