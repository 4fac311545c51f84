/* each.h - all jobs of a namespace, or of all, one after the other
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EACH_H
#define MUSTER_EACH_H

#include "commands/query.h"
#include "life/plan.h"

/* All of it borrowed. */
struct seen_job {
    char                  *space;
    const struct job      *job;
    const struct observed *observed; /* the anchor and the Pods */
    const struct plan     *plan;
};

/* Call it for each job. Returns how many there are, or -1: the cluster cannot be asked. An anchor
 * that is none is left out with a warning. */
int each_job(const struct query *query,
             void (*take)(void *arg, const struct query *query, const struct seen_job *seen),
             void *arg, struct error *err);

#endif
