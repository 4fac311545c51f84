/* objects.h - what a job is in the cluster: pure functions from a job to JSON documents
 *
 * The objects of a job have numbers: the anchor, which owns all others, two Secrets, the hosts, the
 * PodGroup, the Service, the NetworkPolicy, TensorBoard's Deployment and Service, the launcher and
 * the workers. Names depend on nothing but the job's name, so whoever comes after a crash finds
 * them again. Secrets, hosts and Pods are made for a
 * number of workers, and a Pod for an attempt to run; their labels say which.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OBJECTS_H
#define MUSTER_OBJECTS_H

#include <stddef.h>

#include <jansson.h>

#include "job/job.h"
#include "objects/keys.h"

#define LABEL_JOB   "muster.dev/job"
#define LABEL_ROLE  "muster.dev/role"
#define LABEL_INDEX "muster.dev/index"
#define LABEL_ATTEMPT "muster.dev/attempt"
#define LABEL_WORKERS "muster.dev/workers"
/* Of an elastic job: how many workers are in the hostfile, as the hosts say, and as the launcher
 * was told; and the most that were, in this life of the hosts. */
#define LABEL_HOSTS "muster.dev/hosts"
#define LABEL_LISTED "muster.dev/listed"
#define NOTE_SINCE  "muster.dev/since" /* annotation of the hosts: when that has changed */
#define NOTE_NODES  "muster.dev/nodes" /* of the hosts: life/nodes.h; of the launcher: the time */
/* Annotation of the anchor: as long as it is "true", nothing is created but the anchor. */
#define OBJECT_SUSPEND "scheduling.x-k8s.io/suspend"
#define SSH_PORT    2222

enum object_kind {
    KIND_CONFIG_MAP,
    KIND_SECRET,
    KIND_VOLCANO_GROUP,
    KIND_PLUGINS_GROUP,
    KIND_T9K_GROUP,
    KIND_SERVICE,
    KIND_POLICY,
    KIND_DEPLOYMENT,
    KIND_POD,
    KIND_RESOURCE, /* the custom resource; no object of a job */
    KINDS
};

struct object_kind_row {
    const char *name, *version, *root, *plural; /* root: of its paths in the API */
};
extern const struct object_kind_row object_kinds[KINDS];

enum {
    OBJECT_ANCHOR,
    OBJECT_LAUNCHER_KEY,
    OBJECT_WORKER_KEYS,
    OBJECT_HOSTS,
    OBJECT_GROUP, /* only with --gang; the objects up to here are made for a number of workers */
    OBJECT_SERVICE,
    OBJECT_POLICY,
    OBJECT_BOARD, /* only with --tensorboard, as the next */
    OBJECT_BOARD_SERVICE,
    OBJECT_LAUNCHER, /* the first of the Pods; there is none if worker 0 is the launcher */
    OBJECT_WORKERS,  /* number of the first */
};
#define OBJECT_PODS OBJECT_LAUNCHER

struct object_name {
    enum object_kind kind;
    char             text[80];
};

size_t             objects_count(const struct job *job); /* all numbers are below */
struct object_name object_name(const struct job *job, size_t number);
/* Has this job such an object? */
bool object_is_wanted(const struct job *job, size_t number);
/* Number of the Pod that muster runs in. */
size_t object_launcher(const struct job *job);

/* The Pods of a job in the order of people: the workers, then the launcher if it is one more. */
size_t object_pods(const struct job *job);
size_t object_pod(const struct job *job, size_t index);

/* What an object is made for, besides the job. */
struct object_for {
    const char        *space;   /* namespace */
    const char        *uid;     /* of the anchor; NULL in a dry run: the object has no owner */
    const char        *resource; /* that of the anchor's own owner; NULL: it has none */
    const struct keys *keys;    /* NULL: there is a remark instead of each key */
    int64_t            attempt; /* from 1 */
    int64_t            hosts;   /* workers in the hostfile; 0: all */
    int64_t            listed;  /* the most that were in it; 0: these */
    const json_t      *nodes;   /* of the workers, with their classes; NULL: not known */
    int64_t            now_s;
    bool               is_resumed; /* after a pause of the run */
    bool               is_last; /* no attempt follows if this one fails */
};

/* A new reference. */
json_t *object_make(const struct job *job, size_t number, const struct object_for *what);

#endif
