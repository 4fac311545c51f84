/* show.h - how get and list print a job, in Arena's words for users
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SHOW_H
#define MUSTER_SHOW_H

#include <stdbool.h>

#include <jansson.h>

#include "life/observed.h"
#include "life/plan.h"

/* the format of -o name */
#define SHOW_NAME "deepspeedjob.muster.dev/%s"

/* Returns PENDING, RUNNING, SUCCEEDED, FAILED or MAX_WAIT_TIME_EXCEEDED. */
const char *show_status(const struct plan *plan, const struct job *job,
                        const struct observed *observed);

/* Formats the time from the job's submission to its end, or to now: "90s", "12m", "3h", "2d";
 * text has SHOW_BYTES. */
#define SHOW_BYTES 24
void show_duration(const struct job *job, const struct observed *observed, int64_t now_s,
                   char *text);
void show_seconds(int64_t seconds, char *text);

/* Makes a document of the job, its state and the last lines of failed Pods: a new reference. */
json_t *show_document(const char *space, const struct job *job, const struct observed *observed,
                      const struct plan *plan);
/* Prints one such document, or a list of them, as YAML or JSON. Returns an exit status. */
int show_print(const json_t *document, bool is_yaml);

#endif
