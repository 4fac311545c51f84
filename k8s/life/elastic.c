/* elastic.c - see elastic.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "life/elastic.h"

#include "exit_code.h"
#include "objects/objects.h"

bool elastic_goes_on(const struct job *job, const struct observed *observed)
{
    const struct observed_object *launcher = &observed->object[object_launcher(job)];

    return job_is_elastic(job) && !job->is_paused && launcher->exists && !launcher->is_ending &&
           observed->attempts.launched == observed->attempts.number &&
           launcher->attempt == observed->attempts.number && !observed_is_finished(launcher);
}

int64_t elastic_hosts(const struct job *job, const struct observed *observed)
{
    int64_t                       hosts = observed->object[OBJECT_HOSTS].hosts;
    const struct observed_object *pod;

    if (!elastic_goes_on(job, observed) || hosts > job->workers)
        return job->workers;
    for (; hosts < job->workers; hosts++) {
        pod = &observed->object[OBJECT_WORKERS + (size_t)hosts];
        if (!pod->exists || pod->is_ending || !pod->is_ready)
            break;
    }
    return hosts;
}

bool elastic_may_go(const struct job *job, const struct observed *observed, size_t number,
                    int64_t now_s)
{
    const struct observed_object *pod = &observed->object[number];
    const struct observed_object *hosts = &observed->object[OBJECT_HOSTS];
    int64_t                       index = (int64_t)(number - OBJECT_WORKERS);

    if (index < job->workers) /* a lost worker; not too often */
        return observed_is_finished(pod) &&
               observed_for_s(pod, pod->ended_s, now_s) >= PLAN_AGAIN_S;
    if (!elastic_goes_on(job, observed) || observed_is_finished(pod) || !hosts->exists)
        return true;
    return index >= hosts->hosts &&
           (index >= hosts->listed || now_s - hosts->since_s > PLAN_LEAVE_S);
}

bool elastic_has_waited(const struct job *job, const struct observed *observed)
{
    const struct observed_object *launcher = &observed->object[object_launcher(job)];

    return job_is_elastic(job) && launcher->exists &&
           launcher->attempt == observed->attempts.number && launcher->phase == POD_FAILED &&
           launcher->exit_code == EXIT_WAITED;
}
