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
    json_t         *resource;    /* the custom resource that it comes from; NULL: none */
    json_t         *rival;       /* a custom resource that waits for its name; NULL: none */
    char           *wrong;       /* why the resource is not a valid job; NULL: it is */
    bool            is_listed;   /* in the list of anchors that was read last */
    bool            is_claimed;  /* in the list of resources that was read last */
    bool            is_doubtful; /* its anchor is gone: the resource may be, too */
    bool            is_unread;   /* the resource has changes that are not read yet */
    bool            is_known;    /* all of its objects are observed */
    bool            is_replaced; /* by another job with its name */
    int64_t         next_ns;     /* when to look at it */
    int             failures;    /* in a row */
    int64_t         told_ns;
    struct announcement told;    /* by the last Event; reason NULL: none yet */
};

/* Start from { .api = ... }. */
struct held_jobs {
    struct api   *api;
    struct held **item;
    size_t        count;
    bool          sees_nodes; /* as in struct observed */
    bool          was_listed; /* or an object is gone, since held_drop_unlisted() */
};

/* Callbacks for the watches of anchors, custom resources and Pods. Documents are borrowed. */
void held_begin_anchors(struct held_jobs *jobs);
void held_take_anchor(struct held_jobs *jobs, json_t *anchor, bool is_gone);
void held_begin_resources(struct held_jobs *jobs);
void held_take_resource(struct held_jobs *jobs, json_t *resource, bool is_gone);
/* Applies pending changes of the resource. Call it before acting on the job: later changes then
 * wait for the next call. If is_doubtful, the caller has checked that the resource exists. */
void held_settle(struct held *held);
void held_lose_resource(struct held_jobs *jobs, struct held *held); /* a GET did not find it */
void held_begin_pods(struct held_jobs *jobs);
void held_take_pod(struct held_jobs *jobs, json_t *pod, bool is_gone);

/* NULL: no such job. */
struct held *held_find(const struct held_jobs *jobs, const char *space, const char *name);

/* Forgets jobs that are gone. Do not call it while acting on a job. */
void held_drop_unlisted(struct held_jobs *jobs);
void held_clear(struct held_jobs *jobs);

#endif
