/* follow.c - see follow.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/follow.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "api/watch.h"
#include "clock.h"
#include "commands/execute.h"
#include "commands/pod_log.h"
#include "exit_code.h"
#include "job/template.h"
#include "log.h"
#include "xalloc.h"

#define ROUND_S    1.0  /* a plan also depends on the time */
#define LOG_LAST_S 30   /* to get the rest of a log after the end */
#define CLEAN_S    60   /* for the Pods to go */

struct follow {
    const struct place *place;
    const struct job   *job;
    struct observed    *observed;
    struct watch       *watch;
    struct pod_log     *log;
    bool                is_log_done;
    int                 signals;
    int64_t             ended_ns; /* 0: not yet */
    char                said[800];
};

static int  step(struct follow *follow, bool *is_over, struct error *err);
static int  make_plan(struct follow *follow, struct plan *plan, struct error *err);
static void step_log(struct follow *follow);
static bool is_final(struct follow *follow, const struct plan *plan);
static void say(struct follow *follow, const struct plan *plan);
static int  interrupted(struct follow *follow);
static int  result(const struct plan *plan, const struct job *job);
static void forget(void *arg);
static void take(void *arg, json_t *pod, bool is_gone);

static const struct watch_ops watch_ops = { .begin = forget, .change = take };

int follow_create(const struct place *place, const struct job *job, struct observed *observed)
{
    struct plan  plan;
    struct error err;
    size_t       count;
    enum outcome outcome;
    int          rc = 0, code;

    do {
        plan_make(&plan, job, observed, time(NULL));
        if (plan.is_deleted)
            rc = err_set(&err, "%s", plan.why);
        else
            rc = execute(place, job, observed, &plan, &err);
        count = plan.count;
        outcome = plan.outcome;
        code = plan.exit_code;
        if (rc == 0 && outcome != OUTCOME_NONE)
            rc = err_set(&err, "%s", plan.why);
        plan_clear(&plan);
    } while (rc == 0 && count > 0);
    if (rc == 0)
        return 0;
    log_error("%s", err.text);
    return outcome != OUTCOME_NONE && code != 0 ? code : EXIT_CREATE;
}

int follow_wait(const struct place *place, const struct job *job, struct observed *observed)
{
    struct follow follow = { .place = place, .job = job, .observed = observed };
    char         *path = place_path(place, KIND_POD, NULL);
    char         *query = xasprintf("labelSelector=" LABEL_JOB "%%3D%s", job->name);
    struct error  err;
    sigset_t      signals;
    bool          is_over = false;
    int           status;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    follow.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    api_break_on(place->api, follow.signals);
    follow.watch = watch_open(place->api, path, query, &watch_ops, &follow);
    for (;;) {
        status = step(&follow, &is_over, &err);
        if (is_over)
            break;
        if (poll(&(struct pollfd){ .fd = follow.signals, .events = POLLIN }, 1, 0) == 1) {
            status = interrupted(&follow);
            break;
        }
        if (status < 0) {
            log_error("%s", err.text);
            log_error("the job may be running; `muster k8s get %s` tells", job->name);
            status = EXIT_UNREACHABLE;
            break;
        }
        api_wait(place->api, ROUND_S, follow.signals);
    }
    api_break_on(place->api, -1);
    pod_log_close(follow.log);
    watch_close(follow.watch);
    close(follow.signals);
    free(path);
    free(query);
    return status;
}

/* One round. *is_over: the result is the exit status. */
static int step(struct follow *follow, bool *is_over, struct error *err)
{
    struct plan plan = { 0 };
    int         status = 0;

    if (watch_step(follow->watch, err) < 0 || make_plan(follow, &plan, err) < 0)
        return -1;
    step_log(follow);
    if (plan.outcome != OUTCOME_NONE && follow->ended_ns == 0)
        follow->ended_ns = clock_now_ns();
    say(follow, &plan);
    /* Nothing is deleted before its log is here. */
    if (plan.outcome == OUTCOME_NONE || follow->is_log_done ||
        follow->observed->outcome == OUTCOME_NONE ||
        clock_now_ns() > follow->ended_ns + LOG_LAST_S * NS_PER_S)
        status = execute(follow->place, follow->job, follow->observed, &plan, err);
    *is_over = status == 0 && is_final(follow, &plan);
    if (*is_over)
        status = result(&plan, follow->job);
    plan_clear(&plan);
    return status;
}

/* Pods that are missing may be so because the whole job was deleted. */
static int make_plan(struct follow *follow, struct plan *plan, struct error *err)
{
    plan_make(plan, follow->job, follow->observed, time(NULL));
    if (plan->count == 0 || plan->action[0].kind != ACTION_CREATE)
        return 0;
    plan_clear(plan);
    if (execute_observe_anchor(follow->place, follow->job, follow->observed, err) < 0)
        return -1;
    plan_make(plan, follow->job, follow->observed, time(NULL));
    return 0;
}

static void step_log(struct follow *follow)
{
    size_t                        number = object_launcher(follow->job);
    const struct observed_object *launcher = &follow->observed->object[number];
    bool                          has_ended = launcher->exists && observed_is_finished(launcher);
    json_t                       *container = template_container(follow->job->template);

    if (follow->is_log_done)
        return;
    if (!launcher->exists || (launcher->phase != POD_RUNNING && !has_ended)) {
        /* It has no log. If the job has ended, it will not get one. */
        follow->is_log_done = follow->ended_ns != 0 && follow->log == NULL;
        return;
    }
    if (follow->log == NULL)
        follow->log = pod_log_open(follow->place, object_name(follow->job, number).text,
                                   json_string_value(json_object_get(container, "name")), true, -1);
    follow->is_log_done = pod_log_step(follow->log, has_ended);
}

/* The end is kept in the anchor, what has to go is going, and all output is here. */
static bool is_final(struct follow *follow, const struct plan *plan)
{
    size_t i, ending = 0;

    if (plan->is_deleted)
        return true;
    if (plan->outcome == OUTCOME_NONE || plan->count > 0)
        return false;
    for (i = OBJECT_WORKERS; i < follow->observed->count; i++)
        ending += follow->observed->object[i].is_ending;
    return (follow->is_log_done && ending == 0) ||
           clock_now_ns() > follow->ended_ns + CLEAN_S * NS_PER_S;
}

/* What is waited for, when that changes. */
static void say(struct follow *follow, const struct plan *plan)
{
    if (plan->outcome != OUTCOME_NONE || plan->why[0] == '\0' || plan->is_deleted ||
        strcmp(plan->why, follow->said) == 0)
        return;
    memcpy(follow->said, plan->why, sizeof follow->said);
    log_warn("%s", plan->why);
}

static int interrupted(struct follow *follow)
{
    struct signalfd_siginfo info;
    struct pollfd           again = { .fd = follow->signals, .events = POLLIN };
    const char             *name = follow->job->name;
    struct error            err;

    if (read(follow->signals, &info, sizeof info) != (ssize_t)sizeof info)
        return EXIT_INTERRUPTED;
    log_warn("the job is still running: `muster k8s logs -f %s` shows it, `muster k8s delete "
             "%s` ends "
             "it%s",
             name, name, info.ssi_signo == SIGINT ? "; Ctrl-C again deletes it" : "");
    if (info.ssi_signo != SIGINT)
        return 128 + SIGTERM;
    if (poll(&again, 1, FOLLOW_AGAIN_S * 1000) != 1 ||
        read(follow->signals, &info, sizeof info) != (ssize_t)sizeof info)
        return EXIT_INTERRUPTED;
    if (execute_delete(follow->place, follow->job, follow->observed, &err) < 0)
        log_error("%s", err.text);
    else
        log_warn("job %s deleted", name);
    return EXIT_INTERRUPTED;
}

static int result(const struct plan *plan, const struct job *job)
{
    if (plan->is_deleted) {
        log_error("job %s was deleted", job->name);
        return EXIT_LOST;
    }
    if (plan->outcome != OUTCOME_SUCCEEDED)
        log_error("job %s: %s: %s", job->name, outcome_names[plan->outcome], plan->why);
    return plan->exit_code;
}

static void forget(void *arg)
{
    observed_forget_pods(((struct follow *)arg)->observed);
}

static void take(void *arg, json_t *pod, bool is_gone)
{
    struct follow *follow = arg;

    observed_take(follow->observed, follow->job, pod, is_gone);
}
