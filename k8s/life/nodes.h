/* nodes.h - the nodes of the workers, and their classes by their labels
 *
 * The hosts store these in the annotation NOTE_NODES: a list with one text per worker, in
 * order, "NODE spot", "NODE on-demand", or "NODE" if the labels do not tell.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_NODES_H
#define MUSTER_LIFE_NODES_H

#include <stdbool.h>

#include <jansson.h>

#include "job/job.h"
#include "life/observed.h"

/* Must the annotation be written? Yes if all workers in the hostfile have nodes, the annotation
 * lacks some of these, we may read nodes, and the Pods do not ask for a class themselves. */
bool nodes_are_due(const struct job *job, const struct observed *observed);

/* Makes the list. classes: a class, or "", for each node by name. Returns a new reference. */
json_t *nodes_list(const struct job *job, const struct observed *observed, const json_t *classes);

/* Returns how many workers the hostfile has. */
int64_t nodes_workers(const struct job *job, const struct observed *observed);

#endif
