/* each.h - a callback for each job of a namespace, or of all namespaces
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EACH_H
#define MUSTER_EACH_H

#include "commands/query.h"
#include "life/plan.h"

/* All members are borrowed. */
struct seen_job {
    char                  *space;
    const struct job      *job;
    const struct observed *observed; /* the anchor and the Pods */
    const struct plan     *plan;
};

/* Calls take() for each job. Returns how many anchors there are, or -1: no answer from the
 * cluster. Warns about an anchor without a valid job, and leaves it out. */
int each_job(const struct query *query,
             void (*take)(void *arg, const struct query *query, const struct seen_job *seen),
             void *arg, struct error *err);

#endif
