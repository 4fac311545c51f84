/* controller.c - muster k8s controller: does for all jobs what submit --wait does for one
 *
 * The controller keeps no state of its own: all that it must know about a job is in the
 * cluster. So it can be killed at any moment, and several may run; a Lease decides which of
 * them acts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "api/rights.h"
#include "api/watch.h"
#include "clock.h"
#include "commands/execute.h"
#include "commands/held.h"
#include "commands/lease.h"
#include "commands/query.h"
#include "commands/resource.h"
#include "commands/subcommands.h"
#include "exit_code.h"
#include "log.h"
#include "xalloc.h"

#define ROUND_S       1.0
#define LOOK_S        5  /* a plan also depends on the time */
#define ASK_S         60 /* between checks for the kind of the custom resource */
#define FIRST_PAUSE_S 1  /* after a job's first failure; doubles with each further one */
#define LAST_PAUSE_S  60
#define LEASE_ONE     "muster-controller" /* for one namespace */
#define LEASE_ALL     "muster-controller-all"
#define PLANS_MAX     16 /* for one job, before the others have their turn */

struct controller {
    const struct query *query;
    struct watch       *anchors, *pods;
    struct watch       *resources; /* NULL: the cluster has no such kind */
    int64_t             ask_ns;    /* when to check for that kind */
    struct held_jobs    jobs;
    struct lease        lease;
    int                 signals;
};

static bool is_asked_to_end(const struct controller *controller);
static bool may_see_nodes(struct api *api);
static void open_watches(struct controller *controller);
static int  round_once(struct controller *controller, struct error *err);
static int  step_resources(struct controller *controller, struct error *err);
static void look_at(struct held_jobs *jobs, struct held *held);
static int  take_care(struct held_jobs *jobs, struct held *held, struct error *err);
static int  act(struct held *held, struct error *err);
static void say(const struct held *held, const struct plan *plan);
static bool tell(struct held *held, const struct plan *plan);
static int  send_event(const struct held *held, const struct announcement *what,
                       struct error *err);
static void begin_anchors(void *arg);
static void take_anchor(void *arg, json_t *anchor, bool is_gone);
static void begin_resources(void *arg);
static void take_resource(void *arg, json_t *resource, bool is_gone);
static void begin_pods(void *arg);
static void take_pod(void *arg, json_t *pod, bool is_gone);

static const struct watch_ops anchor_ops = { .begin = begin_anchors, .change = take_anchor };
static const struct watch_ops resource_ops = { .begin = begin_resources, .change = take_resource };
static const struct watch_ops pod_ops = { .begin = begin_pods, .change = take_pod };

int command_controller(const struct subcommand *self, char *const *argv)
{
    struct query      query;
    struct controller controller = { .query = &query };
    struct error      err;
    sigset_t          signals;
    int               status = query_begin(&query, self, argv, QUERY_ALL | QUERY_IDENTITY, 0, 0);

    if (status != 0)
        return status;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    controller.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    api_break_on(query.place.api, controller.signals);
    controller.jobs.api = query.place.api;
    controller.jobs.sees_nodes = may_see_nodes(query.place.api);
    lease_begin(&controller.lease, &query.place, query.is_all ? LEASE_ALL : LEASE_ONE,
                query.identity);
    open_watches(&controller);
    printf("looking after the jobs of %s%s\n", query.is_all ? "all namespaces" : "namespace ",
           query.is_all ? "" : query.place.space);
    fflush(stdout);
    do
        status = round_once(&controller, &err);
    while (status == 0 && !is_asked_to_end(&controller));
    if (is_asked_to_end(&controller))
        status = 0;
    if (status < 0)
        log_error("%s", err.text);
    api_break_on(query.place.api, -1);
    lease_end(&controller.lease);
    watch_close(controller.anchors);
    watch_close(controller.resources);
    watch_close(controller.pods);
    held_clear(&controller.jobs);
    close(controller.signals);
    query_end(&query);
    return status < 0 ? EXIT_UNREACHABLE : 0;
}

static bool is_asked_to_end(const struct controller *controller)
{
    struct pollfd asked = { .fd = controller->signals, .events = POLLIN };

    return poll(&asked, 1, 0) == 1;
}

/* May we read nodes? An administrator can grant that with contrib/kubernetes/nodes.yaml. */
static bool may_see_nodes(struct api *api)
{
    struct error harmless;

    return rights_ask(api, json_pack("{ssss}", "verb", "get", "resource", "nodes"), &harmless) > 0;
}

static void open_watches(struct controller *controller)
{
    const struct query *query = controller->query;
    char               *anchors = query_path(query, KIND_CONFIG_MAP);
    char               *pods = query_path(query, KIND_POD);

    controller->anchors = watch_open(query->place.api, anchors,
                                     "labelSelector=" LABEL_ROLE "%3Danchor", &anchor_ops,
                                     controller);
    controller->pods =
        watch_open(query->place.api, pods, "labelSelector=" LABEL_JOB, &pod_ops, controller);
    free(anchors);
    free(pods);
}

static int round_once(struct controller *controller, struct error *err)
{
    struct held *held;
    size_t       i;
    int          is_ours;

    if (watch_step(controller->anchors, err) < 0)
        return -1;
    if (step_resources(controller, err) < 0)
        return -1;
    held_drop_unlisted(&controller->jobs);
    if (watch_step(controller->pods, err) < 0 ||
        (is_ours = lease_step(&controller->lease, err)) < 0)
        return -1;
    for (i = 0; is_ours && i < controller->jobs.count; i++) {
        held = controller->jobs.item[i];
        if (!held->is_replaced && clock_now_ns() >= held->next_ns)
            look_at(&controller->jobs, held);
    }
    api_wait(controller->query->place.api, ROUND_S, controller->signals);
    return 0;
}

/* The custom resource's kind may appear and vanish while we run, or be forbidden to us. */
static int step_resources(struct controller *controller, struct error *err)
{
    struct api  *api = controller->query->place.api;
    struct error why;
    char        *path;

    if (controller->resources != NULL && watch_step(controller->resources, &why) < 0) {
        log_warn("%s", why.text);
        watch_close(controller->resources);
        controller->resources = NULL;
        controller->ask_ns = clock_now_ns() + ASK_S * NS_PER_S;
    }
    if (controller->resources != NULL || clock_now_ns() < controller->ask_ns)
        return 0;
    controller->ask_ns = clock_now_ns() + ASK_S * NS_PER_S;
    path = query_path(controller->query, KIND_RESOURCE);
    if (api_request(api, "GET", path, NULL, NULL, &why) == 200) {
        controller->resources = watch_open(api, path, "", &resource_ops, controller);
        printf("custom resources: " JOB_KIND " of " JOB_API_VERSION "\n");
        fflush(stdout);
    }
    free(path);
    return controller->resources != NULL ? watch_step(controller->resources, err) : 0;
}

static void look_at(struct held_jobs *jobs, struct held *held)
{
    struct error err;
    int          pause_s = LOOK_S, i;

    /* Before take_care(), because an event that arrives in it may set this to 0. */
    held->next_ns = clock_now_ns() + LOOK_S * NS_PER_S;
    if (take_care(jobs, held, &err) == 0) {
        held->failures = 0;
        return;
    }
    log_warn("job %s of namespace %s: %s", held->job.name, held->place.space, err.text);
    for (i = 0, pause_s = FIRST_PAUSE_S; i < held->failures && pause_s < LAST_PAUSE_S; i++)
        pause_s *= 2;
    held->failures++;
    held->is_known = false;
    held->next_ns = clock_now_ns() + pause_s * NS_PER_S;
}

static int take_care(struct held_jobs *jobs, struct held *held, struct error *err)
{
    int rc = 1;

    if (held->is_doubtful && held->resource != NULL && (rc = resource_is_there(held, err)) < 0)
        return -1;
    if (rc == 0) {
        held_lose_resource(jobs, held);
        return 0;
    }
    held_settle(held);
    held->observed.sees_nodes = jobs->sees_nodes;
    if (held->wrong == NULL && act(held, err) < 0)
        return -1;
    return resource_tell(held, err);
}

/* Makes and executes plans until nothing is left to do. */
static int act(struct held *held, struct error *err)
{
    struct plan plan;
    size_t      i, count = 1;
    int         rc = 0;

    if (!held->is_known && execute_observe(&held->place, &held->job, &held->observed, err) < 0)
        return -1;
    held->is_known = true;
    for (i = 0; i < PLANS_MAX && count > 0 && rc == 0; i++) {
        if (execute_plan(&held->place, &held->job, &held->observed, &plan, err) < 0)
            return -1;
        say(held, &plan);
        /* Before execute(): a controller that is killed after that would never announce it. */
        if (!tell(held, &plan)) {
            plan_clear(&plan);
            continue;
        }
        /* The job's time is over: its resource goes, too, but first gets the final status. */
        if (plan.count > 0 && plan.action[0].kind == ACTION_DELETE &&
            plan.action[0].number == OBJECT_ANCHOR)
            rc = resource_tell(held, err);
        if (rc == 0)
            rc = execute(&held->place, &held->job, &held->observed, &plan, err);
        count = plan.count;
        plan_clear(&plan);
    }
    return rc;
}

/* Prints the outcome or the failed attempt that execute() will store. */
static void say(const struct held *held, const struct plan *plan)
{
    /* Actions for the last lines of Pods precede this one. */
    enum action_kind kind = plan->count > 0 ? plan->action[plan->count - 1].kind : ACTION_CREATE;

    if (kind == ACTION_RECORD)
        printf("%s/%s: %s%s%s\n", held->place.space, held->job.name, outcome_names[plan->outcome],
               plan->why[0] != '\0' ? ": " : "", plan->why);
    else if (kind == ACTION_ATTEMPT && plan->why[0] != '\0')
        printf("%s/%s: %s\n", held->place.space, held->job.name, plan->why);
    fflush(stdout);
}

/* Announces the plan with an Event, for users of kubectl. An error does not affect the job.
 * False: a change has arrived that the plan does not consider. */
static bool tell(struct held *held, const struct plan *plan)
{
    static int64_t      quiet_until_ns; /* after a refused Event, of any job */
    static bool         has_warned;
    int64_t             now_ns = clock_now_ns();
    uint64_t            before = held->observed.changes;
    struct announcement what;
    struct error        why;
    bool                is_same;

    if (!announcement_of(&what, &held->job, &held->observed, plan) || now_ns < quiet_until_ns)
        return true;
    is_same = held->told.reason == what.reason && held->told.attempt == what.attempt;
    if (is_same && (strcmp(held->told.message, what.message) == 0 ||
                    now_ns < held->told_ns + ANNOUNCEMENT_PAUSE_S * NS_PER_S))
        return true;
    if (send_event(held, &what, &why) == 0) {
        held->told = what;
        held->told_ns = now_ns;
    } else {
        quiet_until_ns = clock_now_ns() + ASK_S * NS_PER_S;
        if (!has_warned)
            log_warn("job %s: cannot write an Event: %s", held->job.name, why.text);
        has_warned = true;
    }
    return held->observed.changes == before;
}

static int send_event(const struct held *held, const struct announcement *what,
                      struct error *err)
{
    struct api *api = held->place.api;
    json_t     *event =
        announcement_event(what, &held->job, &held->observed, held->place.space, api_now(api));
    json_t     *change = announcement_change(event);
    const char *name = json_string_value(
        json_object_get(json_object_get(event, "metadata"), "name"));
    char       *all = xasprintf("/api/v1/namespaces/%s/events", held->place.space);
    char       *one = xasprintf("%s/%s", all, name);
    int         status = api_try(api, "POST", all, event, err);

    if (status == 409) /* it exists, with another message or from another controller */
        status = api_try(api, "PATCH", one, change, err);
    free(all);
    free(one);
    json_decref(change);
    json_decref(event);
    return status < 0 ? -1 : 0;
}

static void begin_anchors(void *arg)
{
    held_begin_anchors(&((struct controller *)arg)->jobs);
}

static void take_anchor(void *arg, json_t *anchor, bool is_gone)
{
    held_take_anchor(&((struct controller *)arg)->jobs, anchor, is_gone);
}

static void begin_resources(void *arg)
{
    held_begin_resources(&((struct controller *)arg)->jobs);
}

static void take_resource(void *arg, json_t *resource, bool is_gone)
{
    held_take_resource(&((struct controller *)arg)->jobs, resource, is_gone);
}

static void begin_pods(void *arg)
{
    held_begin_pods(&((struct controller *)arg)->jobs);
}

static void take_pod(void *arg, json_t *pod, bool is_gone)
{
    held_take_pod(&((struct controller *)arg)->jobs, pod, is_gone);
}
