/* group.h - the PodGroup of a job whose Pods are placed all at once or not at all
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GROUP_H
#define MUSTER_GROUP_H

#include <jansson.h>

#include "job/job.h"
#include "objects/objects.h"

/* Returns the kind of PodGroup that the job's scheduler uses. */
enum object_kind group_kind(const struct job *job);

/* Returns a new reference, without apiVersion, kind and name. */
json_t *group_make(const struct job *job);

/* Adds the label or annotation that makes a Pod with this metadata a member of the group. */
void group_mark(const struct job *job, json_t *metadata);

#endif
