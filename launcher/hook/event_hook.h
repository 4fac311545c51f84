/* event_hook.h - starts the program of --on-event for each event, and never waits for it
 *
 * The program gets one event on its standard input (event.h), as a line of JSON. It runs without a
 * shell, without arguments, in its own session, so that Ctrl-C at the terminal is not for it, with
 * muster's environment and no other descriptor. One process runs at a time; other events wait
 * (event_queue.h). What it prints goes to events.log (event_log.h).
 *
 * After EVENT_HOOK_S its process group gets TERM, and KILL EVENT_HOOK_TERM_S later. What it has
 * left in its process group when it exits is killed. The first failure is a warning, later ones are
 * only in events.log.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVENT_HOOK_H
#define MUSTER_EVENT_HOOK_H

#include <stdbool.h>

#include <event2/event.h>
#include <jansson.h>

#define EVENT_HOOK_S      30.0
#define EVENT_HOOK_TERM_S 5.0

struct event_hook;

/* What has become of the events so far. */
struct event_hook_counts {
    unsigned told;    /* the program has taken them */
    unsigned failed;  /* it has failed, or could not be started */
    unsigned dropped; /* it did not get them, since too many waited */
};

/* How long a process may take, and how long after TERM; in seconds. */
struct event_hook_limits {
    double run_s, term_s;
};

/* program is borrowed. dir: the directory of the run, for the user, borrowed, and dir_fd to it;
 * NULL and -1: there is none. */
struct event_hook *event_hook_new(struct event_base *base, const char *program, const char *dir,
                                  int dir_fd, const struct event_hook_limits *limits);
/* Kills what still runs, and drops what waits. children_await() waits until it is gone. NULL is
 * fine. */
void event_hook_free(struct event_hook *hook);

/* Queues an event, and takes it over. Returns at once. */
void event_hook_put(struct event_hook *hook, json_t *event);

struct event_hook_counts event_hook_counts(const struct event_hook *hook);

/* Does no process run, and no event wait? */
bool event_hook_is_idle(const struct event_hook *hook);
/* The run is over, and so is the time of the events before the last one: kills their process, and
 * drops those that wait. Does nothing once the program has the last one. */
void event_hook_hurry(struct event_hook *hook);

#endif
