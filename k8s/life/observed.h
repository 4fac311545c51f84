/* observed.h - what the cluster says of the objects of a job
 *
 * Made from the API's documents; plan.h decides by it, and get prints it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OBSERVED_H
#define MUSTER_OBSERVED_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "job/job.h"

enum outcome {
    OUTCOME_NONE, /* it has not ended */
    OUTCOME_SUCCEEDED,
    OUTCOME_FAILED,
    OUTCOME_STUCK,    /* a Pod cannot start */
    OUTCOME_MAX_WAIT, /* not all Pods were placed in time */
    OUTCOME_FOREIGN,  /* an object of that name is not of this job */
    OUTCOMES
};
/* "", "Succeeded", "Failed", "CannotStart" ...: as they are kept in the anchor */
extern const char *const outcome_names[OUTCOMES];

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };
extern const char *const pod_phases[];

/* What this muster has seen of a Pod, and when: the clock of the Pod's node may be wrong. */
enum seen_state { SEEN_NOTHING, SEEN_PENDING, SEEN_STARTED, SEEN_ENDED, SEEN_GONE };
struct pod_seen {
    enum seen_state state;
    int64_t         since_s;   /* it was in that state; 0: nobody has looked */
    bool            was_ready; /* once */
    char            uid[64];
};

struct observed_object {
    bool exists;
    bool is_ours;   /* owned by this anchor; of the anchor: by the resource, if there is one */
    bool is_ending; /* it has a deletionTimestamp */
    char uid[64];
    uint64_t version; /* its resourceVersion; 0: unknown */
    int64_t workers; /* it was made for that many; 0: for any number */
    int64_t hosts, listed, since_s; /* of the hosts, and the launcher: see LABEL_HOSTS */
    int64_t created_s;
    /* Of a Pod: */
    int64_t attempt; /* it was made for */
    enum pod_phase phase;
    bool    is_ready;
    int     exit_code;    /* of the training container, if it has ended */
    int64_t started_s, ended_s; /* 0: not yet */
    /* Why it waits or has ended, Unschedulable, OOMKilled ...; of one that does not exist, why the
     * cluster has ended it. May be empty. */
    char    reason[64];
    char    message[400];
    char    node[128];
    struct pod_seen seen; /* also of the last one, when it does not exist */
};

/* How often the job was tried, as kept in the anchor. */
struct attempts {
    int64_t number;    /* of this attempt, from 1; a pause and another scale begin a new one, too */
    int64_t launched;  /* the last one whose launcher has been there */
    int64_t failures;
    int64_t started_s; /* first launched, or again after a pause; 0: not yet */
    bool    is_resumed; /* a pause has ended an attempt that was running */
    char    last[400]; /* why the one before ended; may be empty */
};

struct observed {
    struct observed_object *object; /* by number, as in objects.h */
    size_t       count;        /* at least that of the job; a larger job had more */
    uint64_t     changes;      /* how often something was taken, or forgotten */
    char         uid[64];      /* of the anchor; stays when it is gone */
    char         version[64];  /* of the anchor */
    char         resource[64]; /* uid of the custom resource that owns the anchor; empty: none */
    json_t      *wanted;       /* the job that it asks for; NULL: nobody has looked */
    char        *job;          /* the document in the anchor */
    bool         is_job_new;   /* it has changed */
    bool         is_queued;    /* the anchor's annotation OBJECT_SUSPEND says so */
    int64_t      created_s;    /* of the anchor, by the server's clock */
    struct attempts attempts;
    bool         sees_nodes;   /* who is at work here may read nodes; for who knows to set */
    json_t      *nodes;        /* what the hosts say of those of the workers: nodes.h; or NULL */
    json_t      *lines;        /* of failed Pods, as lines.h says; may be NULL */
    enum outcome outcome;      /* as kept in the anchor, with the next three */
    int          exit_code;
    int64_t      ended_s;
    char         why[800];
};

void observed_init(struct observed *observed, const struct job *job);
/* After the number of workers has changed: nothing that is known gets lost. */
void observed_fit(struct observed *observed, const struct job *job);
void observed_clear(struct observed *observed);

/* A document of the API: what it says of the object with its name. Others are ignored. The anchor
 * has to be the first. */
void observed_take(struct observed *observed, const struct job *job, const json_t *document,
                   bool is_gone);

/* It does not exist. */
void observed_lose(struct observed_object *object);

/* It is that time: note what has happened to Pods since the last look. */
void observed_see(struct observed *observed, int64_t now_s);
/* For how long a Pod has been in its state; stamp_s is since when its node says, for who has not
 * seen it. */
int64_t observed_for_s(const struct observed_object *pod, int64_t stamp_s, int64_t now_s);

/* The anchor, once it exists, has to be owned by the custom resource with that uid; wanted: the job
 * that it asks for, a reference that is kept. */
void observed_want(struct observed *observed, const char *uid, json_t *wanted);

/* Does the custom resource ask for another job than the one in the anchor? */
bool observed_is_outdated(const struct observed *observed);

/* No Pod exists, until it is taken again; but for those that are not ours: no list of the job's
 * Pods has them, so somebody has to ask for each. */
void observed_forget_pods(struct observed *observed);

/* It is there, and of somebody else. */
bool observed_is_foreign(const struct observed_object *object);

/* "2026-11-22T15:00:00Z" in seconds since 1970; 0 if it is no such text. */
int64_t observed_time(const char *text);

bool observed_is_finished(const struct observed_object *pod);

#endif
