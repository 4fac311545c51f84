/* group.c - see group.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "objects/group.h"

#include "objects/pod.h"

enum object_kind group_kind(const struct job *job)
{
    return job->gang == GANG_PLUGINS ? KIND_PLUGINS_GROUP
           : job->gang == GANG_T9K   ? KIND_T9K_GROUP
                                     : KIND_VOLCANO_GROUP;
}

/* minMember counts the launcher: it is created with the workers, and waits for them. */
json_t *group_make(const struct job *job)
{
    json_t *template = json_object_get(job->template, "spec"), *class;
    json_t *spec = json_pack("{sI}", "minMember",
                             (json_int_t)object_pods(job) -
                                 (job_is_elastic(job) ? job->workers - job->least : 0));

    if (job->gang == GANG_PLUGINS)
        json_object_set_new(spec, "scheduleTimeoutSeconds", json_integer(job_max_wait_s(job)));
    else if (job->queue != NULL)
        json_object_set_new(spec, "queue", json_string(job->queue));
    class = json_object_get(template, "priorityClassName");
    if (job->gang == GANG_VOLCANO && class != NULL)
        json_object_set(spec, "priorityClassName", class);
    if (job->gang == GANG_T9K)
        json_object_set_new(spec, "priority", json_integer(job->queue_priority));
    return json_pack("{so}", "spec", spec);
}

void group_mark(const struct job *job, json_t *metadata)
{
    static const struct {
        const char *field, *name;
    } marks[] = {
        [GANG_VOLCANO] = { "annotations", "scheduling.k8s.io/group-name" },
        [GANG_PLUGINS] = { "labels", "scheduling.x-k8s.io/pod-group" },
        [GANG_T9K] = { "labels", "scheduler.tensorstack.dev/group-name" },
    };

    if (job->gang != GANG_NONE)
        json_object_set_new(pod_inner(metadata, marks[job->gang].field, json_object),
                            marks[job->gang].name, json_string(job->name));
}
