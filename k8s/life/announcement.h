/* announcement.h - Events about a job: what it waits for, and how it ended
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIFE_ANNOUNCEMENT_H
#define MUSTER_LIFE_ANNOUNCEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "life/plan.h"

#define ANNOUNCEMENT_PAUSE_S 10 /* at least, between changes of an Event */

struct announcement {
    const char *reason;     /* "Waiting", "Retry", "Succeeded" ...; static */
    bool        is_warning;
    int64_t     attempt;
    char        message[800];
};

/* Decides what to announce about a plan before muster executes it; false: nothing. */
bool announcement_of(struct announcement *what, const struct job *job,
                     const struct observed *observed, const struct plan *plan);

/* Makes an Event about the custom resource, or about the anchor if there is none. The attempt
 * and the reason make up its name, so a muster that announces the same again finds it: there is
 * one Event per attempt and reason, however often the message changes. A new reference. */
json_t *announcement_event(const struct announcement *what, const struct job *job,
                           const struct observed *observed, const char *space, int64_t now_s);

/* Makes a patch that gives that Event a new message. Returns a new reference. */
json_t *announcement_change(const json_t *event);

#endif
