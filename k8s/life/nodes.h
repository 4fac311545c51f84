/* nodes.h - on which nodes the workers are, and of which class these are by their labels
 *
 * The hosts have it as an annotation, NOTE_NODES: a list with a text for each worker, in order,
 * "NODE spot", "NODE on-demand", or "NODE" where the labels do not say.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_NODES_H
#define MUSTER_LIFE_NODES_H

#include <stdbool.h>

#include <jansson.h>

#include "job/job.h"
#include "life/observed.h"

/* All workers in the hostfile have a node, and the hosts do not know some of these; and who is at
 * work here may read nodes. Not if the Pods ask for a class themselves. */
bool nodes_are_due(const struct job *job, const struct observed *observed);

/* The list, where classes has a class, or "", for each node by name. A new reference. */
json_t *nodes_list(const struct job *job, const struct observed *observed, const json_t *classes);

/* How many workers the hostfile has. */
int64_t nodes_workers(const struct job *job, const struct observed *observed);

#endif
