/* observed.h - the state of a job's objects in the cluster
 *
 * It is read from the API's documents; plan.h makes decisions from it, and get prints it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OBSERVED_H
#define MUSTER_OBSERVED_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "job/job.h"

enum outcome {
    OUTCOME_NONE, /* the job has not ended */
    OUTCOME_SUCCEEDED,
    OUTCOME_FAILED,
    OUTCOME_STUCK,    /* a Pod cannot start */
    OUTCOME_MAX_WAIT, /* not all Pods were placed in time */
    OUTCOME_FOREIGN,  /* an object with one of our names is not ours */
    OUTCOMES
};
/* "", "Succeeded", "Failed", "CannotStart" ...: as stored in the anchor */
extern const char *const outcome_names[OUTCOMES];

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };
extern const char *const pod_phases[];

/* What this muster has seen of a Pod, and when; the clock of the Pod's node may be wrong. */
enum seen_state { SEEN_NOTHING, SEEN_PENDING, SEEN_STARTED, SEEN_ENDED, SEEN_GONE };
struct pod_seen {
    enum seen_state state;
    int64_t         since_s;   /* when that state was first seen; 0: never */
    bool            was_ready; /* at any time */
    char            uid[64];
};

struct observed_object {
    bool exists;
    bool is_ours;   /* this anchor owns it; the resource, if any, owns the anchor */
    bool is_ending; /* it has a deletionTimestamp */
    char uid[64];
    uint64_t version; /* its resourceVersion; 0: unknown */
    int64_t workers; /* for how many it was made; 0: for any number */
    int64_t hosts, listed, since_s; /* of the hosts, and the launcher: see LABEL_HOSTS */
    int64_t created_s;
    /* Only for Pods: */
    int64_t attempt; /* for which the Pod was made */
    enum pod_phase phase;
    bool    is_ready;
    int     exit_code;    /* of the training container, if it has ended */
    int64_t started_s, ended_s; /* 0: not yet */
    /* Why the Pod waits or has ended: Unschedulable, OOMKilled ...; if it is gone, why the
     * cluster ended it. May be empty. */
    char    reason[64];
    char    message[400];
    char    node[128];
    struct pod_seen seen; /* if the Pod is gone, of the last one */
};

/* The attempts to run the job, as stored in the anchor. */
struct attempts {
    int64_t number;    /* of this attempt, from 1; a pause or a scale also begins a new one */
    int64_t launched;  /* the last attempt whose launcher was seen */
    int64_t failures;
    int64_t started_s; /* first launch, or first after a pause; 0: not yet */
    bool    is_resumed; /* a pause ended an attempt that was running */
    char    last[400]; /* why the previous attempt ended; may be empty */
};

struct observed {
    struct observed_object *object; /* by number, as in objects.h */
    size_t       count;        /* at least the job's; more if the job was larger */
    uint64_t     changes;      /* how often an object was updated or forgotten */
    char         uid[64];      /* of the anchor; stays when the anchor is gone */
    char         version[64];  /* of the anchor */
    char         resource[64]; /* uid of the custom resource, the anchor's owner; empty: none */
    json_t      *wanted;       /* the job that the resource asks for; NULL: unknown */
    char        *job;          /* the document in the anchor */
    bool         is_job_new;   /* the document in the anchor has changed */
    bool         is_queued;    /* the anchor's annotation OBJECT_SUSPEND is "true" */
    int64_t      created_s;    /* of the anchor, by the server's clock */
    struct attempts attempts;
    bool         sees_nodes;   /* we may read nodes; the controller sets it */
    json_t      *nodes;        /* the hosts' annotation NOTE_NODES (nodes.h); may be NULL */
    json_t      *lines;        /* of failed Pods (lines.h); may be NULL */
    enum outcome outcome;      /* this and the next three: as stored in the anchor */
    int          exit_code;
    int64_t      ended_s;
    char         why[800];
};

void observed_init(struct observed *observed, const struct job *job);
/* Makes room after the number of workers has changed; keeps all that is known. */
void observed_fit(struct observed *observed, const struct job *job);
void observed_clear(struct observed *observed);

/* Updates the object that a document of the API describes; ignores objects of other jobs. The
 * anchor must be the first. */
void observed_take(struct observed *observed, const struct job *job, const json_t *document,
                   bool is_gone);

/* Marks the object as missing. */
void observed_lose(struct observed_object *object);

/* Records changes of Pods since the last call, as seen at now_s. */
void observed_see(struct observed *observed, int64_t now_s);
/* Returns how long a Pod has been in its state. stamp_s: since when by its node's clock, used
 * if observed_see() has not seen the Pod. */
int64_t observed_for_s(const struct observed_object *pod, int64_t stamp_s, int64_t now_s);

/* Sets the custom resource that must own the anchor, by its uid, and the job that it asks for,
 * to which it adds a reference. */
void observed_want(struct observed *observed, const char *uid, json_t *wanted);

/* Does the custom resource ask for another job than the one in the anchor? */
bool observed_is_outdated(const struct observed *observed);

/* Marks all our Pods as missing until observed_take() updates them. Keeps those that are not
 * ours: a list of the job's Pods does not contain them, so the caller must request each. */
void observed_forget_pods(struct observed *observed);

/* Does the object exist without being ours? */
bool observed_is_foreign(const struct observed_object *object);

/* Parses "2026-11-22T15:00:00Z" into seconds since 1970; 0: not such a text. */
int64_t observed_time(const char *text);

bool observed_is_finished(const struct observed_object *pod);

#endif
