/* held.c - see held.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/held.h"

#include <stdlib.h>
#include <string.h>

#include "job/job_document.h"
#include "log.h"
#include "xalloc.h"

static void         yield(struct held *held);
static void         read_resource(struct held *held);
static bool         is_same(const json_t *resource, const json_t *other);
static void         claim(struct held *held, json_t *resource);
static void         let_go(struct held *held, const json_t *resource);
static void         begin_anew(struct held *held, struct job *job);
static struct held *hold(struct held_jobs *jobs, const json_t *anchor, const char *space);
static struct held *add(struct held_jobs *jobs, const char *space, struct job *job);
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
    struct held  *before = NULL;

    if (name == NULL || space == NULL || uid == NULL)
        return;
    if (held != NULL && held->observed.uid[0] != '\0' && strcmp(held->observed.uid, uid) != 0) {
        if (is_gone)
            return; /* the previous job with that name */
        held->is_listed = false;
        held->is_replaced = true;
        jobs->was_listed = true;
        before = held;
        held = NULL;
    }
    if (held == NULL && !is_gone)
        held = hold(jobs, anchor, space);
    if (held != NULL && before != NULL && before->resource != NULL)
        held_take_resource(jobs, before->resource, false);
    if (held == NULL)
        return;
    held->is_listed = !is_gone;
    jobs->was_listed |= is_gone;
    held->is_doubtful |= is_gone && held->resource != NULL;
    observed_take(&held->observed, &held->job, anchor, is_gone);
    if (held->failures == 0)
        held->next_ns = 0;
}

void held_begin_resources(struct held_jobs *jobs)
{
    size_t i;

    jobs->was_listed = true;
    for (i = 0; i < jobs->count; i++) {
        jobs->item[i]->is_claimed = false;
        json_decref(jobs->item[i]->rival);
        jobs->item[i]->rival = NULL;
    }
}

void held_take_resource(struct held_jobs *jobs, json_t *resource, bool is_gone)
{
    const json_t *metadata = json_object_get(resource, "metadata");
    const char   *name = json_string_value(json_object_get(metadata, "name"));
    const char   *space = json_string_value(json_object_get(metadata, "namespace"));
    struct held  *held = name != NULL && space != NULL ? held_find(jobs, space, name) : NULL;
    struct job    job = { 0 };

    if (name == NULL || space == NULL)
        return;
    if (is_gone || json_object_get(metadata, "deletionTimestamp") != NULL) {
        if (held != NULL)
            let_go(held, resource);
        jobs->was_listed = true;
        return;
    }
    if (held == NULL) {
        job.name = xstrdup(name);
        held = add(jobs, space, &job);
    }
    claim(held, resource);
    if (held->failures == 0)
        held->next_ns = 0;
}

void held_settle(struct held *held)
{
    held->is_unread |= held->is_doubtful; /* the job begins again */
    held->is_doubtful = false;
    if (held->resource != NULL && held->is_unread)
        read_resource(held);
    held->is_unread = false;
    if (held->resource != NULL)
        yield(held);
}

void held_lose_resource(struct held_jobs *jobs, struct held *held)
{
    let_go(held, held->resource);
    jobs->was_listed = true;
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

/* An object that a new list lacks was deleted while the watch was broken. */
void held_drop_unlisted(struct held_jobs *jobs)
{
    struct held *held;
    json_t      *rival;
    size_t       i;

    if (!jobs->was_listed)
        return;
    jobs->was_listed = false;
    for (i = jobs->count; i-- > 0;) {
        held = jobs->item[i];
        /* The resource is gone, was never ours, or is that of the job that replaces this. */
        if (!held->is_claimed || held->is_replaced) {
            json_decref(held->resource);
            held->resource = NULL;
        }
        if (held->is_listed || held->resource != NULL)
            continue;
        rival = json_incref(held->rival);
        drop(jobs, i);
        if (rival != NULL)
            held_take_resource(jobs, rival, false);
        json_decref(rival);
    }
}

void held_clear(struct held_jobs *jobs)
{
    while (jobs->count > 0)
        drop(jobs, 0);
    free(jobs->item);
    jobs->item = NULL;
}

static bool is_same(const json_t *resource, const json_t *other)
{
    return json_equal(json_object_get(json_object_get(resource, "metadata"), "uid"),
                      json_object_get(json_object_get(other, "metadata"), "uid"));
}

/* Makes the resource that of this job, or its rival if the job has another origin. */
static void claim(struct held *held, json_t *resource)
{
    const char *uid =
        json_string_value(json_object_get(json_object_get(resource, "metadata"), "uid"));
    bool     is_rival = held->observed.object[OBJECT_ANCHOR].exists &&
                    strcmp(held->observed.resource, uid != NULL ? uid : "") != 0;
    json_t **at = is_rival ? &held->rival : &held->resource;

    json_incref(resource);
    json_decref(*at);
    *at = resource;
    held->is_claimed |= !is_rival;
    held->is_unread |= !is_rival;
}

static void let_go(struct held *held, const json_t *resource)
{
    json_t **at = held->rival != NULL && is_same(held->rival, resource) ? &held->rival
                                                                        : &held->resource;

    if (*at == NULL || !is_same(*at, resource))
        return;
    json_decref(*at);
    *at = NULL;
    if (at == &held->resource)
        held->is_claimed = false;
}

/* If a job with this name was submitted without the resource, looks after that job, and makes
 * the resource its rival. */
static void yield(struct held *held)
{
    const struct observed_object *anchor = &held->observed.object[OBJECT_ANCHOR];
    json_t *text = anchor->exists && !anchor->is_ours && held->observed.job != NULL
                       ? json_loads(held->observed.job, 0, NULL)
                       : NULL;
    struct job   job = { 0 };
    struct error err;

    if (text != NULL && job_from_document(&job, text, &err) == 0) {
        json_decref(held->rival);
        held->rival = held->resource;
        held->resource = NULL;
        begin_anew(held, &job);
    }
    json_decref(text);
}

/* Reads the job that the resource asks for. */
static void read_resource(struct held *held)
{
    const char *uid = json_string_value(
        json_object_get(json_object_get(held->resource, "metadata"), "uid"));
    bool         has_anchor = held->observed.object[OBJECT_ANCHOR].exists;
    json_t      *wanted = NULL;
    struct job   job = { 0 };
    struct error err;

    free(held->wrong);
    held->wrong = NULL;
    if (job_from_document(&job, held->resource, &err) == 0 && job_check(&job, &err) == 0)
        wanted = job_document(&job);
    else if (!has_anchor)
        held->wrong = xstrdup(err.text);
    else /* the job stays as it was */
        log_warn("DeepSpeedJob %s: %s", held->job.name, err.text);
    if (!has_anchor && wanted != NULL)
        begin_anew(held, &job);
    else
        job_clear(&job);
    observed_want(&held->observed, uid != NULL ? uid : "", wanted);
    json_decref(wanted);
}

/* Replaces the job, of which nothing is observed yet. Takes the new one. */
static void begin_anew(struct held *held, struct job *job)
{
    job_clear(&held->job);
    held->job = *job;
    observed_clear(&held->observed);
    observed_init(&held->observed, &held->job);
    held->told = (struct announcement){ 0 };
    held->is_known = false;
}

static struct held *hold(struct held_jobs *jobs, const json_t *anchor, const char *space)
{
    struct job   job = { 0 };
    struct error err;

    if (place_read_anchor(anchor, &job, &err) == 0)
        return add(jobs, space, &job);
    log_warn("namespace %s: %s", space, err.text);
    return NULL;
}

/* Takes the job. */
static struct held *add(struct held_jobs *jobs, const char *space, struct job *job)
{
    struct held *held = xcalloc(1, sizeof *held);

    held->job = *job;
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
    json_decref(held->resource);
    json_decref(held->rival);
    free(held->wrong);
    free(held->place.space);
    free(held);
}
