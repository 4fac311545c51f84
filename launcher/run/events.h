/* events.h - tells the program of --on-event what happens to a run (hook/event_hook.h)
 *
 * Whoever notices something calls events_tell(); that is all that a new event needs, with its row
 * in the table of muster-watch(7).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVENTS_H
#define MUSTER_EVENTS_H

#include <stdbool.h>

#include <jansson.h>

#define EVENTS_END_S     10.0 /* how long muster waits at the end, at most */
#define EVENTS_BEFORE_S  5.0  /* of these for the events before the last one */
#define EVENTS_HURRIED_S 1.0  /* the same for all, if the user has asked twice to end the run */

struct event_hook_counts;
struct run;
struct events;

/* Returns NULL if there is no --on-event, or no ranks. */
struct events *events_new(struct run *run);
/* Kills what still runs. NULL is fine. */
void events_free(struct events *events);

/* Queues an event and returns at once. own: what only this event says, of people's texts only
 * event_string(); taken over; NULL: nothing. The text is a sentence for people; that of the run
 * precedes it. Does nothing without --on-event. */
void events_tell(struct run *run, const char *event, json_t *own, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What has become of the events so far. False: there is no --on-event. */
bool events_counts(const struct run *run, struct event_hook_counts *counts);

/* A rank has started: tells "started" or "restarted" once all ranks run. */
void events_rank_started(struct run *run);

/* The last event was queued: waits until the program has had all, or for EVENTS_END_S. A second
 * signal from the user ends the wait. */
void events_await(struct run *run);

#endif
