/* pod.h - the Pods of a job: the user's template, and what muster adds to it
 *
 * Unless the job runs as root, they satisfy the Pod Security Standard "restricted".
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_POD_H
#define MUSTER_POD_H

#include <stddef.h>

#include <jansson.h>

#include "job/job.h"

/* The image must have this user: contrib/kubernetes/Dockerfile. */
#define POD_USER "muster"
#define POD_UID  1000
#define POD_HOME "/home/muster"

#define POD_HOSTS   "/etc/muster/hosts"   /* hostfile, ssh_config */
#define POD_KEY     "/etc/muster/key"     /* in the launcher: id_ed25519, known_hosts */
#define POD_HOST    "/etc/muster/host"    /* in a worker: host_key, authorized_keys */
#define POD_RUN     "/run/muster"

/* Both return a new reference, without apiVersion, kind and name. If what->is_last, the
 * launcher lets the workers exit after any run, else only after a run that succeeds. */
struct object_for;
json_t *pod_worker(const struct job *job, size_t index, const struct object_for *what);
json_t *pod_launcher(const struct job *job, const struct object_for *what);

/* Adds what Pod Security "restricted" requires, unless the template sets it. */
void pod_add_security(const struct job *job, json_t *spec, json_t *container);

/* Returns the object or list in that field, borrowed. Makes it if it is missing. */
json_t *pod_inner(json_t *object, const char *name, json_t *(*make)(void));

#endif
