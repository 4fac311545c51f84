/* run_mode.h - what a job does instead of its run: nothing (a pause), or wait for people (debug);
 * and what is different about the run after a pause
 *
 * As T9k's runMode: in debug mode its Pods are as they are for the run, but muster is not started;
 * `muster k8s shell` is how one gets there. After a pause, resumeSpecs may have another command.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RUN_MODE_H
#define MUSTER_RUN_MODE_H

#include "job/fields.h"
#include "job/job.h"

/* spec.runMode of a document, and that field of a job; NULL: it has none. New reference. */
void    run_mode_read(struct job *job, struct fields *spec);
json_t *run_mode_document(const struct job *job);

void run_mode_clear(struct job *job);

/* What the launcher runs, after a pause or not, added to words. True: they are muster's command
 * line after those that name hosts and keys; false: a program that takes its place. */
bool run_mode_command(const struct job *job, bool is_resumed, struct strlist *words);

/* Do Pods that are made now have no init containers? */
bool run_mode_skips_init(const struct job *job, bool is_resumed);

#endif
