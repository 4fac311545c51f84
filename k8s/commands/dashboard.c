/* dashboard.c - muster k8s dashboard: the page of a job's run at a port of this machine
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "commands/kubectl.h"
#include "commands/subcommands.h"
#include "life/plan.h"

static int add_words(const struct query *query, const struct job *job, struct observed *observed,
                     struct strlist *words, struct error *err);
static int check(const struct query *query, const struct job *job, struct observed *observed,
                 struct error *err);
static int check_pods(const struct job *job, const struct observed *observed, struct error *err);

int command_dashboard(const struct subcommand *self, char *const *argv)
{
    struct query query;
    int          status = query_begin(&query, self, argv, QUERY_PAGE_PORT, 1, 1);

    return status != 0 ? status : kubectl_become(&query, add_words);
}

static int add_words(const struct query *query, const struct job *job, struct observed *observed,
                     struct strlist *words, struct error *err)
{
    if (check(query, job, observed, err) < 0)
        return -1;
    strlist_add(words, "port-forward");
    strlist_addf(words, "pod/%s", object_name(job, object_launcher(job)).text);
    strlist_addf(words, "%" PRId64 ":%" PRId64, query->port, job_page_port(job));
    printf("The page of job %s: http://localhost:%" PRId64 "/ until Ctrl-C\n", job->name,
           query->port);
    return 0;
}

/* kubectl would say only that a port or a Pod is not there. The end of a job may not be recorded
 * yet, so asks as get does. */
static int check(const struct query *query, const struct job *job, struct observed *observed,
                 struct error *err)
{
    struct plan  plan = { 0 };
    enum outcome outcome;

    if (!job_has_page(job))
        return err_set(err, "the job %s serves no page: it was submitted without --dashboard "
                            "(dashboard: true in a document); `muster k8s logs -f %s` shows its "
                            "output", job->name, job->name);
    if (place_observe_pods(&query->place, job, observed, err) < 0)
        return -1;
    plan_make(&plan, job, observed, api_now(query->place.api));
    outcome = plan.outcome;
    plan_clear(&plan);
    if (outcome == OUTCOME_NONE)
        return check_pods(job, observed, err);
    return err_set(err, "the job %s has ended (%s), and its page with it; `muster k8s logs %s` "
                        "shows its output, and `muster k8s get %s` how it ended", job->name,
                   outcome_names[outcome], job->name, job->name);
}

/* muster in the launcher begins to serve the page once enough workers are ready. */
static int check_pods(const struct job *job, const struct observed *observed, struct error *err)
{
    const struct observed_object *pod = &observed->object[object_launcher(job)];
    int64_t                       wanted = job_is_elastic(job) ? job->least : job->workers;
    int64_t                       ready = 0, i;
    const char                   *name = object_name(job, object_launcher(job)).text;

    if (!pod->exists || pod->phase != POD_RUNNING || pod->is_ending)
        return err_set(err, "Pod %s, which serves the page, is not running (%s); `muster k8s get "
                            "%s` shows why", name,
                       !pod->exists     ? "it does not exist"
                       : pod->is_ending ? "it is ending"
                                        : pod_phases[pod->phase], job->name);
    for (i = 0; i < job->workers; i++) {
        pod = &observed->object[OBJECT_WORKERS + (size_t)i];
        ready += pod->exists && pod->phase == POD_RUNNING && pod->is_ready;
    }
    if (ready < wanted)
        return err_set(err, "the run of job %s has not begun, or is about to end: %" PRId64 " of "
                            "%" PRId64 " workers are ready; `muster k8s get %s` shows what it "
                            "waits for", job->name, ready, wanted, job->name);
    return 0;
}
