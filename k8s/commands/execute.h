/* execute.h - carrying out what plan_make() has decided
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EXECUTE_H
#define MUSTER_EXECUTE_H

#include "commands/place.h"
#include "life/plan.h"

/* Plan, and if something is missing look first whether it is so: the whole job may be deleted, or
 * changed. *plan is made in any case. */
int execute_plan(const struct place *place, struct job *job, struct observed *observed,
                 struct plan *plan, struct error *err);

/* Create the anchor, and by that take the name: 1, or 0 if somebody else has it just now; -1. */
int execute_begin(const struct place *place, const struct job *job, struct observed *observed,
                  struct error *err);

/* All actions, in order; observed is brought up to date with what the server answers. */
int execute(const struct place *place, const struct job *job, struct observed *observed,
            const struct plan *plan, struct error *err);

/* Read all objects of a job that exists already. */
int execute_observe(const struct place *place, const struct job *job, struct observed *observed,
                    struct error *err);

/* Keep the job, as it is now, in the anchor, unless that has changed since it was observed;
 * *observed has what is there then. */
int execute_change(const struct place *place, const struct job *job, struct observed *observed,
                   struct error *err);

/* Delete the job: its anchor, and by that all it owns. 0, also if it is gone already; or -1. */
int execute_delete(const struct place *place, const struct job *job,
                   const struct observed *observed, struct error *err);

#endif
