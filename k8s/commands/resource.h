/* resource.h - the custom resource of a job: writes its status, and changes its spec
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RESOURCE_H
#define MUSTER_RESOURCE_H

#include "commands/held.h"

/* Writes the status of a job's resources if it has changed. Returns 0 or -1. */
int resource_tell(struct held *held, struct error *err);

/* Does the job's resource still exist? 1: yes, 0: no, -1: error. */
int resource_is_there(const struct held *held, struct error *err);

/* Writes the job's number of workers and its pause into the custom resource; the anchor
 * follows. Returns 0 or -1. */
int resource_change(const struct place *place, const struct job *job,
                    const struct observed *observed, struct error *err);

#endif
