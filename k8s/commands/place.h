/* place.h - where jobs are: a cluster and a namespace
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLACE_H
#define MUSTER_PLACE_H

#include "api/api.h"
#include "job/args.h"
#include "job/job.h"
#include "life/observed.h"
#include "objects/objects.h"

struct place {
    char       *context; /* NULL: the current one */
    char       *space;   /* NULL before place_open(): that of the context */
    struct api *api;
};

/* Callbacks for --context and --namespace. *to must begin with a struct place. */
int place_set_context(void *to, const char *value, struct error *err);
int place_set_space(void *to, const char *value, struct error *err);

/* Connects with the service account if we are in a Pod and no context or kubeconfig is named,
 * else through kubectl. -1: error. */
int  place_open(struct place *place, struct error *err);
void place_close(struct place *place);

/* Returns the API's path of an object, or of all of its kind (name NULL); caller frees. */
char *place_path(const struct place *place, enum object_kind kind, const char *name);

/* Finds a job of the cluster by its anchor, and initializes *observed with the anchor. Returns
 * 1; 0: no such job; -1: error. */
int place_find(const struct place *place, const char *name, struct job *job,
               struct observed *observed, struct error *err);

/* Reads the job in an anchor's document. Returns 0 or -1. */
int place_read_anchor(const json_t *anchor, struct job *job, struct error *err);

/* Updates *job if the job in the anchor has changed. -1: the anchor's job is no longer valid,
 * and *job is unchanged. */
int place_refresh(struct job *job, struct observed *observed, struct error *err);

/* Like api_request() with GET. Watches deliver while we wait for the answer; if they have
 * delivered changes of the job, repeats the request, so that its answer is not older. */
int place_get(const struct place *place, const struct observed *observed, const char *path,
              json_t **reply, struct error *err);

/* Reads the job's Pods. Returns 0 or -1. */
int place_observe_pods(const struct place *place, const struct job *job, struct observed *observed,
                       struct error *err);

#endif
