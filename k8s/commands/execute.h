/* execute.h - executes what plan_make() has decided
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EXECUTE_H
#define MUSTER_EXECUTE_H

#include "commands/place.h"
#include "life/plan.h"

/* Makes a plan. If objects are missing, observes the job again and makes a new plan, because
 * the whole job may have been deleted or changed. *plan is valid even after an error. */
int execute_plan(const struct place *place, struct job *job, struct observed *observed,
                 struct plan *plan, struct error *err);

/* Creates the anchor, which claims the job's name. Returns 1; 0: another muster has just
 * claimed it; -1: error. */
int execute_begin(const struct place *place, const struct job *job, struct observed *observed,
                  struct error *err);

/* Executes all actions in order, and updates *observed with the server's answers. */
int execute(const struct place *place, const struct job *job, struct observed *observed,
            const struct plan *plan, struct error *err);

/* Reads all objects of an existing job. */
int execute_observe(const struct place *place, const struct job *job, struct observed *observed,
                    struct error *err);

/* Stores the job in the anchor, unless the anchor has changed since it was observed; then
 * updates *observed instead. */
int execute_change(const struct place *place, const struct job *job, struct observed *observed,
                   struct error *err);

/* Deletes the job's custom resource, if any, else its anchor, and so all that it owns. Returns
 * 0, also if the job is gone already; or -1. */
int execute_delete(const struct place *place, const struct job *job,
                   const struct observed *observed, struct error *err);

#endif
