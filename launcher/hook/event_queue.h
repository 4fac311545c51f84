/* event_queue.h - events that wait for the program of --on-event, in order
 *
 * At most EVENT_QUEUE_MOST wait. Then the oldest is dropped, since what has happened last is of
 * more use. The next event that the program gets says how many before it were dropped: "dropped".
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVENT_QUEUE_H
#define MUSTER_EVENT_QUEUE_H

#include <stddef.h>

#include <jansson.h>

#define EVENT_QUEUE_MOST 32

/* Start from { 0 }. */
struct event_queue {
    json_t  *item[EVENT_QUEUE_MOST];
    size_t   count;
    unsigned dropped; /* since the last one that event_queue_take() has returned */
    unsigned lost;    /* all that were dropped, without those that the program has missed */
};

/* Appends an event, and takes it over. */
void event_queue_put(struct event_queue *queue, json_t *event);

/* Removes the oldest and returns it, with "dropped" if that is not 0; the caller releases it. NULL:
 * there is none. */
json_t *event_queue_take(struct event_queue *queue);

/* The program did not get this one: counts it, and those that were dropped before it. */
void event_queue_missed(struct event_queue *queue, const json_t *event);

/* Drops all but the last one. */
void event_queue_keep_last(struct event_queue *queue);

void event_queue_clear(struct event_queue *queue);

#endif
