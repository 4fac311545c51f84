/* held.c - see held.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/held.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "xalloc.h"

static struct held *hold(struct held_jobs *jobs, const json_t *anchor, const char *space);
static void         drop(struct held_jobs *jobs, size_t index);

void held_begin_anchors(struct held_jobs *jobs)
{
    size_t i;

    jobs->was_listed = true;
    for (i = 0; i < jobs->count; i++)
        jobs->item[i]->is_listed = false;
}

void held_take_anchor(struct held_jobs *jobs, json_t *anchor, bool is_gone)
{
    const json_t *metadata = json_object_get(anchor, "metadata");
    const char   *name = json_string_value(json_object_get(metadata, "name"));
    const char   *space = json_string_value(json_object_get(metadata, "namespace"));
    const char   *uid = json_string_value(json_object_get(metadata, "uid"));
    struct held  *held = name != NULL && space != NULL ? held_find(jobs, space, name) : NULL;

    if (name == NULL || space == NULL || uid == NULL)
        return;
    if (held != NULL && strcmp(held->observed.uid, uid) != 0) {
        if (is_gone)
            return; /* the one before */
        held->is_listed = false;
        held->is_replaced = true;
        jobs->was_listed = true;
        held = NULL;
    }
    if (held == NULL && !is_gone)
        held = hold(jobs, anchor, space);
    if (held == NULL)
        return;
    held->is_listed = !is_gone;
    jobs->was_listed |= is_gone;
    observed_take(&held->observed, &held->job, anchor, is_gone);
    if (held->failures == 0)
        held->next_ns = 0;
}

void held_begin_pods(struct held_jobs *jobs)
{
    size_t i;

    for (i = 0; i < jobs->count; i++) {
        observed_forget_pods(&jobs->item[i]->observed);
        jobs->item[i]->is_known = false;
    }
}

void held_take_pod(struct held_jobs *jobs, json_t *pod, bool is_gone)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    const char   *space = json_string_value(json_object_get(metadata, "namespace"));
    const char   *name =
        json_string_value(json_object_get(json_object_get(metadata, "labels"), LABEL_JOB));
    struct held *held = space != NULL && name != NULL ? held_find(jobs, space, name) : NULL;

    if (held == NULL)
        return;
    observed_take(&held->observed, &held->job, pod, is_gone);
    if (held->failures == 0)
        held->next_ns = 0;
}

struct held *held_find(const struct held_jobs *jobs, const char *space, const char *name)
{
    struct held *held;
    size_t       i;

    for (i = 0; i < jobs->count; i++) {
        held = jobs->item[i];
        if (!held->is_replaced && strcmp(held->job.name, name) == 0 &&
            strcmp(held->place.space, space) == 0)
            return held;
    }
    return NULL;
}

/* What a new list does not have was deleted while the watch was broken. */
void held_drop_unlisted(struct held_jobs *jobs)
{
    size_t i;

    if (!jobs->was_listed)
        return;
    jobs->was_listed = false;
    for (i = jobs->count; i-- > 0;)
        if (!jobs->item[i]->is_listed)
            drop(jobs, i);
}

void held_clear(struct held_jobs *jobs)
{
    while (jobs->count > 0)
        drop(jobs, 0);
    free(jobs->item);
    jobs->item = NULL;
}

static struct held *hold(struct held_jobs *jobs, const json_t *anchor, const char *space)
{
    struct held *held = xcalloc(1, sizeof *held);
    struct error err;

    if (place_read_anchor(anchor, &held->job, &err) < 0) {
        log_warn("namespace %s: %s", space, err.text);
        free(held);
        return NULL;
    }
    held->place = (struct place){ .api = jobs->api, .space = xstrdup(space) };
    observed_init(&held->observed, &held->job);
    jobs->item = xreallocarray(jobs->item, jobs->count + 1, sizeof *jobs->item);
    jobs->item[jobs->count++] = held;
    return held;
}

static void drop(struct held_jobs *jobs, size_t index)
{
    struct held *held = jobs->item[index];

    jobs->item[index] = jobs->item[--jobs->count];
    observed_clear(&held->observed);
    job_clear(&held->job);
    free(held->place.space);
    free(held);
}
