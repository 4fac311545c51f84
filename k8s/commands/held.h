/* held.h - the jobs that a controller looks after
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HELD_H
#define MUSTER_HELD_H

#include "commands/place.h"

/* A job in the cluster. */
struct held {
    struct place    place; /* with the controller's api */
    struct job      job;
    struct observed observed;
    bool            is_listed;   /* in the list that was read last */
    bool            is_known;    /* all of its objects are observed */
    bool            is_replaced; /* by another one of its name */
    int64_t         next_ns;     /* when to look at it */
    int             failures;    /* in a row */
};

/* Start from { .api = ... }. */
struct held_jobs {
    struct api   *api;
    struct held **item;
    size_t        count;
    bool          was_listed; /* since held_drop_unlisted() */
};

/* What a watch of anchors and one of Pods have to tell. Borrowed documents. */
void held_begin_anchors(struct held_jobs *jobs);
void held_take_anchor(struct held_jobs *jobs, json_t *anchor, bool is_gone);
void held_begin_pods(struct held_jobs *jobs);
void held_take_pod(struct held_jobs *jobs, json_t *pod, bool is_gone);

/* NULL: there is none. */
struct held *held_find(const struct held_jobs *jobs, const char *space, const char *name);

/* Forget those that are gone; not while one is being worked on. */
void held_drop_unlisted(struct held_jobs *jobs);
void held_clear(struct held_jobs *jobs);

#endif
