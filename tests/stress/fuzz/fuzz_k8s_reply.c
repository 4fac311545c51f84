/* fuzz_k8s_reply.c - any document in the place of what the API server says of a job's objects
 *
 * One JSON text a line; the anchor is there before.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "life/event.h"
#include "commands/lease.h"
#include "life/usage.h"
#include "job/job_document.h"
#include "life/plan.h"
#include "life/status.h"
#include "objects/objects.h"

#define NOW_S 1795359600

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char job_text[] =
    "{\"apiVersion\": \"muster.dev/v1beta1\", \"kind\": \"DeepSpeedJob\", \"metadata\": {\"name\": "
    "\"j\"}, \"spec\": {\"worker\": {\"replicas\": 2, \"template\": {\"spec\": {\"containers\": "
    "[{\"name\": \"worker\", \"image\": \"i\"}]}}}, \"config\": {\"run\": {\"muster\": [\"a\"]}}, "
    "\"runPolicy\": {\"backoffLimit\": 2, \"ttlSecondsAfterFinished\": 5}}}";
static const char anchor_text[] = "{\"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"j\", "
                                  "\"uid\": \"u\", \"resourceVersion\": \"1\"}}";

static void take(struct observed *observed, const struct job *job, const json_t *document)
{
    struct lease lease = { .identity = "me" };
    struct event event;
    struct usage usage;
    size_t       i;

    observed_take(observed, job, document, false);
    for (i = 0; i < json_array_size(json_object_get(document, "items")); i++)
        observed_take(observed, job, json_array_get(json_object_get(document, "items"), i), false);
    event_take(&event, job, 0, document);
    usage_of_pod(&usage, document, "j-worker-0");
    lease_may_take(&lease, document, NOW_S);
}

/* Nothing of others is ever deleted. */
static void plan(const struct observed *observed, const struct job *job)
{
    struct plan plan;
    size_t      i;

    plan_make(&plan, job, observed, NOW_S);
    for (i = 0; i < plan.count; i++)
        if (plan.action[i].kind == ACTION_DELETE &&
            !observed->object[plan.action[i].number].is_ours)
            abort();
    json_decref(status_make(job, observed, &plan));
    plan_clear(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t         *document = json_loads(job_text, 0, NULL), *anchor;
    struct job      job = { 0 };
    struct observed observed;
    struct error    err;
    const char     *at = (const char *)data, *end = at + size, *newline;

    if (job_from_document(&job, document, &err) < 0)
        abort();
    json_decref(document);
    observed_init(&observed, &job);
    anchor = json_loads(anchor_text, 0, NULL);
    observed_take(&observed, &job, anchor, false);
    json_decref(anchor);
    for (; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        newline = newline != NULL ? newline : end;
        document = json_loadb(at, (size_t)(newline - at), 0, NULL);
        if (document != NULL)
            take(&observed, &job, document);
        json_decref(document);
        plan(&observed, &job);
    }
    observed_clear(&observed);
    job_clear(&job);
    return 0;
}
