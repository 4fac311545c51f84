/* objects.h - what a job is in the cluster: pure functions from a job to JSON documents
 *
 * The objects of a job have numbers, in the order in which they are created: the anchor, which owns
 * all others, two Secrets, the hosts, the Service, the NetworkPolicy, the workers and, if it is a
 * Pod of its own, the launcher. Names depend on nothing but the job's name, so whoever comes after
 * a crash finds them again.
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
#define SSH_PORT    2222

enum object_kind { KIND_CONFIG_MAP, KIND_SECRET, KIND_SERVICE, KIND_POLICY, KIND_POD, KINDS };

struct object_kind_row {
    const char *name, *version, *root, *plural; /* root: of its paths in the API */
};
extern const struct object_kind_row object_kinds[KINDS];

enum {
    OBJECT_ANCHOR,
    OBJECT_LAUNCHER_KEY,
    OBJECT_WORKER_KEYS,
    OBJECT_HOSTS,
    OBJECT_SERVICE,
    OBJECT_POLICY,
    OBJECT_WORKERS, /* number of the first */
};

struct object_name {
    enum object_kind kind;
    char             text[80];
};

size_t             objects_count(const struct job *job);
struct object_name object_name(const struct job *job, size_t number);
/* Number of the Pod that muster runs in. */
size_t object_launcher(const struct job *job);

/* A new reference. space: the namespace. uid: of the anchor; NULL in a dry run: the object then has
 * no owner. keys NULL: there is a remark instead of each key. */
json_t *object_make(const struct job *job, size_t number, const char *space, const char *uid,
                    const struct keys *keys);

#endif
