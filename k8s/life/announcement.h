/* announcement.h - what Events tell of a job: what it waits for, and how it ended
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_ANNOUNCEMENT_H
#define MUSTER_LIFE_ANNOUNCEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "life/plan.h"

#define ANNOUNCEMENT_PAUSE_S 10 /* at least, before an Event is changed */

struct announcement {
    const char *reason;     /* "Waiting", "Retry", "Succeeded" ...; static */
    bool        is_warning;
    int64_t     attempt;
    char        message[800];
};

/* What is to be told of a plan before it is carried out; false: nothing. */
bool announcement_of(struct announcement *what, const struct job *job,
                     const struct observed *observed, const struct plan *plan);

/* As an Event about the custom resource, or the anchor if there is none. Its name is that of the
 * attempt and the reason: whoever tells the same once more finds it there, so there are as many
 * Events as attempts have reasons, however often what is waited for changes. A new reference. */
json_t *announcement_event(const struct announcement *what, const struct job *job,
                           const struct observed *observed, const char *space, int64_t now_s);

/* What changes in that Event when there is another message. A new reference. */
json_t *announcement_change(const json_t *event);

#endif
