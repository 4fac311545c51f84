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

/* What --context and --namespace set. The first member of what args_read() fills. */
int place_set_context(void *to, const char *value, struct error *err);
int place_set_space(void *to, const char *value, struct error *err);

/* By the service account if we are in a Pod and no context or kubeconfig is named, or through
 * kubectl. -1: error. */
int  place_open(struct place *place, struct error *err);
void place_close(struct place *place);

/* Path of the object in the API, or of all of its kind if name is NULL; caller frees. */
char *place_path(const struct place *place, enum object_kind kind, const char *name);

/* A job of the cluster, by its anchor; *observed is made, and has the anchor. Returns 1; 0 if there
 * is none; -1. */
int place_find(const struct place *place, const char *name, struct job *job,
               struct observed *observed, struct error *err);

/* The job in an anchor's document. 0 or -1. */
int place_read_anchor(const json_t *anchor, struct job *job, struct error *err);

/* If the job in the anchor has been changed, that is what *job becomes. -1: it is none any more,
 * and *job is as it was. */
int place_refresh(struct job *job, struct observed *observed, struct error *err);

/* A GET whose answer is not older than what watches have told of the job meanwhile, since they
 * deliver while it is waited for: else it would be asked again. As api_request(). */
int place_get(const struct place *place, const struct observed *observed, const char *path,
              json_t **reply, struct error *err);

/* Its Pods as they are now. 0 or -1. */
int place_observe_pods(const struct place *place, const struct job *job, struct observed *observed,
                       struct error *err);

#endif
