/* announcement.c - see announcement.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/announcement.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "objects/objects.h"
#include "xalloc.h"

#define COMPONENT "muster-controller"

static const char *state_of(const struct job *job, const struct observed *observed,
                            const struct plan *plan);
static json_t *about(const struct job *job, const struct observed *observed, const char *space);

bool announcement_of(struct announcement *what, const struct job *job,
                     const struct observed *observed, const struct plan *plan)
{
    const char *why = plan->why;

    *what = (struct announcement){ .attempt = observed->attempts.number };
    if (plan->is_deleted || observed->uid[0] == '\0' || !observed->object[OBJECT_ANCHOR].is_ours ||
        observed->outcome != OUTCOME_NONE)
        return false; /* or the outcome was announced before it was recorded */
    if (plan->outcome != OUTCOME_NONE) {
        what->reason = outcome_names[plan->outcome];
        what->is_warning = plan->outcome != OUTCOME_SUCCEEDED;
        why = why[0] != '\0' ? why : "the run has succeeded";
    } else if (plan->attempts.failures > observed->attempts.failures) {
        what->reason = "Retry";
        what->is_warning = true;
    } else
        what->reason = state_of(job, observed, plan);
    snprintf(what->message, sizeof what->message, "%s", why);
    return why[0] != '\0';
}

static const char *state_of(const struct job *job, const struct observed *observed,
                            const struct plan *plan)
{
    if (job->is_paused)
        return "Paused";
    if (observed->is_queued && observed->attempts.launched == 0)
        return "Queued";
    return plan->is_running ? "Running" : "Waiting";
}

json_t *announcement_event(const struct announcement *what, const struct job *job,
                           const struct observed *observed, const char *space, int64_t now_s)
{
    json_t   *message = json_string(what->message); /* NULL: truncated within a character */
    char     *name = xasprintf("%s.%.36s.%" PRId64 ".%s", job->name, observed->uid, what->attempt,
                               what->reason);
    char      stamp[32], *letter;
    time_t    now = (time_t)now_s;
    struct tm tm;
    json_t   *event;

    for (letter = name; *letter != '\0'; letter++)
        *letter = (char)tolower((unsigned char)*letter);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    event = json_pack("{sssss{ssss}sossssso sissss s{ss} ssss}", "apiVersion", "v1", "kind",
                      "Event", "metadata", "name", name, "namespace", space, "involvedObject",
                      about(job, observed, space), "reason", what->reason, "type",
                      what->is_warning ? "Warning" : "Normal", "message",
                      message != NULL ? message : json_string(""), "count", 1, "firstTimestamp",
                      stamp, "lastTimestamp", stamp, "source", "component", COMPONENT,
                      "reportingComponent", COMPONENT, "reportingInstance", COMPONENT);
    free(name);
    return event;
}

/* Refers to the object that the user has created, and would look at with kubectl describe. */
static json_t *about(const struct job *job, const struct observed *observed, const char *space)
{
    bool has_resource = observed->resource[0] != '\0';
    const struct object_kind_row *kind =
        &object_kinds[has_resource ? KIND_RESOURCE : KIND_CONFIG_MAP];

    return json_pack("{ssssssssss}", "apiVersion", kind->version, "kind", kind->name, "namespace",
                     space, "name", job->name, "uid",
                     has_resource ? observed->resource : observed->uid);
}

json_t *announcement_change(const json_t *event)
{
    return json_pack("{sOsOsO}", "message", json_object_get(event, "message"), "type",
                     json_object_get(event, "type"), "lastTimestamp",
                     json_object_get(event, "lastTimestamp"));
}
