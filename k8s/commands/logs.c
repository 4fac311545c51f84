/* logs.c - muster k8s logs: what the launcher, or another Pod, has printed
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/pod_log.h"
#include "commands/query.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "job/template.h"
#include "log.h"

#define LOOK_S 5 /* has the Pod ended? */

static int show(const struct query *query, const struct job *job, struct observed *observed);

int command_logs(const struct subcommand *self, char *const *argv)
{
    struct query    query;
    struct job      job = { 0 };
    struct observed observed = { 0 };
    struct error    err;
    int status = query_begin(&query, self, argv, QUERY_FOLLOW | QUERY_TAIL | QUERY_INSTANCE, 1, 1);

    if (status != 0)
        return status;
    if (query_find(&query, &job, &observed, &err) < 0) {
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

    if (query_pod(query, job, &number, &err) < 0) {
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
