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

struct observed_object {
    bool exists;
    bool is_ours;   /* owned by this anchor */
    bool is_ending; /* it has a deletionTimestamp */
    char uid[64];
    /* Of a Pod: */
    enum pod_phase phase;
    bool    is_ready;
    int     exit_code;    /* of the training container, if it has ended */
    int64_t created_s, started_s, ended_s; /* 0: not yet */
    char reason[64]; /* why it waits or has ended: Unschedulable, OOMKilled ...; may be empty */
    char    message[400];
    char    node[128];
};

struct observed {
    struct observed_object *object; /* by number, as in objects.h */
    size_t       count;
    char         uid[64];      /* of the anchor; stays when it is gone */
    int64_t      created_s;    /* of the anchor, by the server's clock */
    enum outcome outcome;      /* as kept in the anchor, with the next three */
    int          exit_code;
    int64_t      ended_s;
    char         why[800];
};

void observed_init(struct observed *observed, const struct job *job);
void observed_clear(struct observed *observed);

/* A document of the API: what it says of the object with its name. Others are ignored. The anchor
 * has to be the first. */
void observed_take(struct observed *observed, const struct job *job, const json_t *document,
                   bool is_gone);

/* No Pod exists, until it is taken again. */
void observed_forget_pods(struct observed *observed);

/* "2026-11-22T15:00:00Z" in seconds since 1970; 0 if it is no such text. */
int64_t observed_time(const char *text);

bool observed_is_finished(const struct observed_object *pod);

#endif
