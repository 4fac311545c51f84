/* events.h - tells the program of --on-event what happens to a run (hook/event_hook.h)
 *
 * Whoever notices something calls events_tell(); that is all that a new event needs, with its row
 * in the table of muster-watch(7).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVENTS_H
#define MUSTER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <jansson.h>

#define EVENTS_KEPT      64
#define EVENTS_SHORT     300  /* bytes of a text that is kept */
#define EVENTS_END_S     10.0 /* how long muster waits at the end, at most */
#define EVENTS_BEFORE_S  5.0  /* of these for the events before the last one */
#define EVENTS_HURRIED_S 1.0  /* the same for all, if the user has asked twice to end the run */

struct event_hook_counts;
struct run;
struct events;

/* Returns NULL if there are no ranks. */
struct events *events_new(struct run *run);
/* Kills what still runs. NULL is fine. */
void events_free(struct events *events);

/* Queues an event and returns at once. own: what only this event says, of people's texts only
 * event_string(); taken over; NULL: nothing. The text is a sentence for people; that of the run
 * precedes it. The last EVENTS_KEPT are kept, also without --on-event. */
void events_tell(struct run *run, const char *event, json_t *own, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What has become of the events so far. False: there is no --on-event. */
bool events_counts(const struct run *run, struct event_hook_counts *counts);

/* An event that is kept. */
struct past_event {
    uint64_t    number; /* from 1 */
    time_t      at;
    const char *name; /* "hang" */
    json_t     *text; /* safe to print */
};

/* Returns the event that has come so many before the last one (0: the last one); NULL: it is not
 * kept. Valid until the next event. */
const struct past_event *events_past(const struct run *run, size_t back);

/* A rank has started: tells "started" or "restarted" once all ranks run. */
void events_rank_started(struct run *run);

/* The last event was queued: waits until the program has had all, or for EVENTS_END_S. A second
 * signal from the user ends the wait. */
void events_await(struct run *run);

#endif
