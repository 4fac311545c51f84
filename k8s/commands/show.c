/* show.c - see show.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/show.h"

#include <inttypes.h>
#include <stdio.h>

#include "exit_code.h"
#include "job/job_document.h"
#include "yaml/yaml.h"
#include "life/status.h"
#include "objects/objects.h"

const char *show_status(const struct plan *plan, const struct job *job,
                        const struct observed *observed)
{
    const struct observed_object *pod;
    size_t                        i;

    switch (plan->outcome) {
    case OUTCOME_SUCCEEDED:
        return "SUCCEEDED";
    case OUTCOME_MAX_WAIT:
        return "MAX_WAIT_TIME_EXCEEDED";
    case OUTCOME_NONE:
        break;
    default:
        return "FAILED";
    }
    for (i = 0; i < object_pods(job); i++) {
        pod = &observed->object[object_pod(job, i)];
        if (!pod->exists || pod->phase == POD_PENDING)
            return "PENDING";
    }
    return "RUNNING";
}

void show_duration(const struct job *job, const struct observed *observed, int64_t now_s,
                   char *text)
{
    const struct observed_object *launcher = &observed->object[object_launcher(job)];
    int64_t                       end_s = observed->ended_s > 0  ? observed->ended_s
                                          : launcher->ended_s > 0 ? launcher->ended_s
                                                                  : now_s;

    show_seconds(end_s - observed->created_s, text);
}

void show_seconds(int64_t seconds, char *text)
{
    if (seconds < 0)
        seconds = 0;
    if (seconds < 120)
        snprintf(text, SHOW_BYTES, "%" PRId64 "s", seconds);
    else if (seconds < 2 * 3600)
        snprintf(text, SHOW_BYTES, "%" PRId64 "m", seconds / 60);
    else if (seconds < 2 * 86400)
        snprintf(text, SHOW_BYTES, "%" PRId64 "h", seconds / 3600);
    else
        snprintf(text, SHOW_BYTES, "%" PRId64 "d", seconds / 86400);
}

json_t *show_document(const char *space, const struct job *job, const struct observed *observed,
                      const struct plan *plan)
{
    json_t *document = job_document(job), *all;

    all = json_pack("{sssssssOso}", "name", job->name, "namespace", space, "status",
                    show_status(plan, job, observed), "spec", json_object_get(document, "spec"),
                    "state", status_make(job, observed, plan));
    json_decref(document);
    if (observed->lines != NULL)
        json_object_set(all, "lines", observed->lines);
    return all;
}

int show_print(const json_t *document, bool is_yaml)
{
    if (is_yaml)
        return yaml_print(document, stdout) < 0 ? EXIT_OUTPUT : 0;
    json_dumpf(document, stdout, JSON_INDENT(2));
    putchar('\n');
    return 0;
}
