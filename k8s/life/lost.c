/* lost.c - see lost.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/lost.h"

#include "objects/objects.h"

size_t lost_find(const struct job *job, const struct observed *observed, bool is_lost)
{
    const struct observed_object *pod;
    size_t                        i, number, gone = 0;

    for (i = 0; i < (size_t)job->workers; i++) {
        number = OBJECT_WORKERS + i;
        pod = &observed->object[number];
        if (number == object_launcher(job))
            continue;
        if (pod->exists && pod->phase == POD_FAILED)
            return number;
        if (is_lost && gone == 0 && (!pod->exists || pod->is_ending))
            gone = number;
    }
    return gone;
}

/* A launcher that still waits for its workers could use the new Pod, but muster cannot see
 * whether it does. */
bool lost_ends_run(const struct job *job, const struct observed *observed, size_t number,
                   int64_t now_s)
{
    const struct observed_object *launcher = &observed->object[object_launcher(job)];
    const struct observed_object *pod = &observed->object[number];

    return number >= OBJECT_WORKERS && number != object_launcher(job) && !job_is_elastic(job) &&
           !job->is_custom && !job->is_debug && launcher->exists &&
           launcher->phase == POD_RUNNING && launcher->attempt == observed->attempts.number &&
           pod->seen.state == SEEN_GONE && pod->seen.was_ready &&
           now_s - pod->seen.since_s <= PLAN_WORKER_S;
}
