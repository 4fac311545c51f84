/* resource.h - what a custom resource is told of its job: its status
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RESOURCE_H
#define MUSTER_RESOURCE_H

#include "commands/held.h"

/* Write the status of a job's resources, where it is another one than they have. 0 or -1. */
int resource_tell(struct held *held, struct error *err);

/* Is the job's resource still there? 1, 0 or -1. */
int resource_is_there(const struct held *held, struct error *err);

/* Ask the custom resource for that number of workers, and for a pause or not. The anchor follows.
 * 0 or -1. */
int resource_change(const struct place *place, const struct job *job,
                    const struct observed *observed, struct error *err);

#endif
