/* objects.h - a job's objects in the cluster: pure functions from a job to JSON documents
 *
 * The objects of a job have numbers: the anchor, which owns all others, two Secrets, the hosts,
 * the PodGroup, the Service, the NetworkPolicy, TensorBoard's Deployment and Service, what lets
 * Prometheus find and read the metrics, the launcher and the workers. An object's name depends only
 * on the job's name, so that muster finds it again after a crash. Secrets, hosts and Pods are made
 * for a number of workers, and a Pod also for an attempt to run; their labels say which.
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
/* Only for elastic jobs. HOSTS: how many workers the hostfile has; on the launcher's Pod, how
 * many it had at the last ACTION_TELL. LISTED: the most since the hosts were created. */
#define LABEL_HOSTS "muster.dev/hosts"
#define LABEL_LISTED "muster.dev/listed"
#define NOTE_SINCE  "muster.dev/since" /* annotation of the hosts: when LABEL_HOSTS changed */
#define NOTE_NODES  "muster.dev/nodes" /* of hosts: life/nodes.h; of the launcher: the time */
/* Annotation of the anchor: while it is "true", no other object is created. */
#define OBJECT_SUSPEND "scheduling.x-k8s.io/suspend"

enum object_kind {
    KIND_CONFIG_MAP,
    KIND_SECRET,
    KIND_VOLCANO_GROUP,
    KIND_PLUGINS_GROUP,
    KIND_T9K_GROUP,
    KIND_SERVICE,
    KIND_POLICY,
    KIND_DEPLOYMENT,
    KIND_MONITOR,
    KIND_POD,
    KIND_RESOURCE, /* the custom resource; not an object of a job */
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
    OBJECT_GROUP, /* only with --gang; the last that is made for a number of workers */
    OBJECT_SERVICE,
    OBJECT_POLICY,
    OBJECT_BOARD, /* this and the next: only with --tensorboard */
    OBJECT_BOARD_SERVICE,
    OBJECT_METRICS_POLICY, /* only with --metrics */
    OBJECT_METRICS_SERVICE, /* this and the next: only with --metrics=servicemonitor */
    OBJECT_MONITOR,
    OBJECT_LAUNCHER, /* the first Pod; absent if worker 0 is the launcher */
    OBJECT_WORKERS,  /* worker 0; the others follow */
};
#define OBJECT_PODS OBJECT_LAUNCHER

struct object_name {
    enum object_kind kind;
    char             text[80];
};

size_t             objects_count(const struct job *job); /* all numbers are less */
struct object_name object_name(const struct job *job, size_t number);
/* Does this job have the object with this number? */
bool object_is_wanted(const struct job *job, size_t number);
/* Returns the number of the Pod that muster runs in. */
size_t object_launcher(const struct job *job);

/* The Pods of a job in the order shown to users: the workers, then the launcher if it has its
 * own Pod. object_pods() counts them; object_pod() returns the object number of one. */
size_t object_pods(const struct job *job);
size_t object_pod(const struct job *job, size_t index);

/* What object_make() needs besides the job. */
struct object_for {
    const char        *space;   /* namespace */
    const char        *uid;     /* of the anchor; NULL: no owner (dry run) */
    const char        *resource; /* uid of the anchor's owner; NULL: no owner */
    const struct keys *keys;    /* NULL: put a remark in place of each key */
    int64_t            attempt; /* from 1 */
    int64_t            hosts;   /* workers in the hostfile; 0: all */
    int64_t            listed;  /* the most that were in the hostfile; 0: hosts */
    const json_t      *nodes;   /* the workers' nodes with their classes; NULL: unknown */
    int64_t            now_s;
    bool               is_resumed; /* the run resumes after a pause */
    bool               is_last; /* no attempt follows if this one fails */
};

/* Returns a new reference. */
json_t *object_make(const struct job *job, size_t number, const struct object_for *what);

#endif
