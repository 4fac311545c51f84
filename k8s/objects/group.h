/* group.h - the PodGroup of a job whose Pods are placed all at once or not at all
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GROUP_H
#define MUSTER_GROUP_H

#include <jansson.h>

#include "job/job.h"
#include "objects/objects.h"

/* That of the job's scheduler. */
enum object_kind group_kind(const struct job *job);

/* Without apiVersion, kind and name. New reference. */
json_t *group_make(const struct job *job);

/* By which its Pods belong to it: a label or an annotation of their metadata. */
void group_mark(const struct job *job, json_t *metadata);

#endif
