/* logs.c - muster k8s logs: what the launcher, or another Pod, has printed
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "commands/pod_log.h"
#include "commands/query.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "job/template.h"
#include "log.h"

#define LOOK_S 5 /* has the Pod ended? */

static int show(const struct query *query, const struct job *job, struct observed *observed);
static int find_pod(const struct query *query, const struct job *job, size_t *number,
                    struct error *err);

int command_logs(char *const *argv)
{
    struct query    query;
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct error    err;
    int             rc, status = query_begin(&query, argv, QUERY_LOG, 1, 1);

    if (status != 0)
        return status;
    rc = place_find(&query.place, query.names.item[0], &job, &observed, &err);
    if (rc <= 0) {
        if (rc == 0)
            err_set(&err, "there is no job %s in namespace %s", query.names.item[0],
                    query.place.space);
        log_error("%s", err.text);
        status = EXIT_UNREACHABLE;
    } else
        status = show(&query, &job, &observed);
    observed_clear(&observed);
    job_clear(&job);
    query_end(&query);
    return status;
}

static int show(const struct query *query, const struct job *job, struct observed *observed)
{
    json_t         *container = template_container(job->template);
    struct pod_log *log;
    struct error    err;
    size_t          number;
    int             status = 0;

    if (find_pod(query, job, &number, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_USAGE;
    }
    log = pod_log_open(&query->place, object_name(job, number).text,
                       json_string_value(json_object_get(container, "name")), query->does_follow,
                       query->tail);
    for (;;) {
        if (query->does_follow && place_observe_pods(&query->place, job, observed, &err) < 0) {
            log_error("%s", err.text);
            status = EXIT_UNREACHABLE;
            break;
        }
        if (pod_log_step(log, !query->does_follow || !observed->object[number].exists ||
                                  observed_is_finished(&observed->object[number])))
            break;
        api_wait(query->place.api, LOOK_S, -1);
    }
    if (status == 0 && pod_log_error(log) != NULL) {
        log_error("%s: %s", object_name(job, number).text, pod_log_error(log));
        status = EXIT_UNREACHABLE;
    }
    pod_log_close(log);
    return status;
}

static int find_pod(const struct query *query, const struct job *job, size_t *number,
                    struct error *err)
{
    size_t i;

    *number = object_launcher(job);
    if (query->instance == NULL)
        return 0;
    for (i = 0; i < object_pods(job); i++)
        if (strcmp(object_name(job, object_pod(job, i)).text, query->instance) == 0) {
            *number = object_pod(job, i);
            return 0;
        }
    return err_set(err,
                   "--instance: %.80s is not a Pod of this job; `muster k8s get %s` shows them",
                   query->instance, job->name);
}
