/* run_mode.h - a job that is paused or in debug mode, and its run after a pause
 *
 * Works like T9k's runMode. In debug mode the Pods are the same as for the run, but do not
 * start muster; `muster k8s shell` opens a shell there. After a pause, resumeSpecs may have
 * another command.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_MODE_H
#define MUSTER_RUN_MODE_H

#include "job/fields.h"
#include "job/job.h"

/* Reads spec.runMode of a document into a job, and makes that field from a job: a new
 * reference, or NULL if the job needs none. */
void    run_mode_read(struct job *job, struct fields *spec);
json_t *run_mode_document(const struct job *job);

void run_mode_clear(struct job *job);

/* Adds the launcher's command to words. True: they are muster's arguments, after those for
 * hosts and keys; false: a program that replaces muster. */
bool run_mode_command(const struct job *job, bool is_resumed, struct strlist *words);

/* Do new Pods have no init containers? */
bool run_mode_skips_init(const struct job *job, bool is_resumed);

#endif
