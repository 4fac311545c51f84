/* held.h - the jobs that a controller looks after
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HELD_H
#define MUSTER_HELD_H

#include "commands/place.h"
#include "life/announcement.h"

/* A job in the cluster. */
struct held {
    struct place    place; /* with the controller's api */
    struct job      job;
    struct observed observed;
    json_t         *resource;    /* the custom resource that it is made from; NULL: none */
    json_t         *rival;       /* a custom resource of its name, which has to wait; NULL: none */
    char           *wrong;       /* the resource is no job, for this reason; NULL: it is one */
    bool            is_listed;   /* in the list of anchors that was read last */
    bool            is_claimed;  /* in that of resources */
    bool            is_doubtful; /* its anchor is gone: the resource may be, too */
    bool            is_unread;   /* there is something new in the resource */
    bool            is_known;    /* all of its objects are observed */
    bool            is_replaced; /* by another one of its name */
    int64_t         next_ns;     /* when to look at it */
    int             failures;    /* in a row */
    int64_t         told_ns;
    struct announcement told;    /* by an Event, last; its reason is NULL before */
};

/* Start from { .api = ... }. */
struct held_jobs {
    struct api   *api;
    struct held **item;
    size_t        count;
    bool          sees_nodes; /* as in struct observed */
    bool          was_listed; /* since held_drop_unlisted() */
};

/* What a watch of anchors, of custom resources and of Pods have to tell. Borrowed documents. */
void held_begin_anchors(struct held_jobs *jobs);
void held_take_anchor(struct held_jobs *jobs, json_t *anchor, bool is_gone);
void held_begin_resources(struct held_jobs *jobs);
void held_take_resource(struct held_jobs *jobs, json_t *resource, bool is_gone);
/* Before its job is worked on: what has come meanwhile does not change the job under those who do.
 * If is_doubtful, its resource was looked for, and is there. */
void held_settle(struct held *held);
void held_lose_resource(struct held_jobs *jobs, struct held *held); /* it was looked for */
void held_begin_pods(struct held_jobs *jobs);
void held_take_pod(struct held_jobs *jobs, json_t *pod, bool is_gone);

/* NULL: there is none. */
struct held *held_find(const struct held_jobs *jobs, const char *space, const char *name);

/* Forget those that are gone; not while one is being worked on. */
void held_drop_unlisted(struct held_jobs *jobs);
void held_clear(struct held_jobs *jobs);

#endif
