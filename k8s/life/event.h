/* event.h - an Event of the cluster, and whether it is about a job
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EVENT_H
#define MUSTER_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "job/job.h"

struct event {
    int64_t at_s;  /* when it was last seen, since 1970 */
    int64_t count; /* how often, at least 1 */
    char    type[16], reason[64];
    char    object[160]; /* "Pod/bert-worker-0" */
    char    message[600]; /* one line, harmless for a terminal */
};

/* Reads an Event document. False: it is not about an object of this job, or it is older than
 * since_s and so about an earlier job with the same name. */
bool event_take(struct event *event, const struct job *job, int64_t since_s,
                const json_t *document);

#endif
