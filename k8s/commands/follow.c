/* follow.c - see follow.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/follow.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "api/watch.h"
#include "clock.h"
#include "commands/execute.h"
#include "commands/pod_log.h"
#include "commands/show.h"
#include "exit_code.h"
#include "job/template.h"
#include "log.h"
#include "xalloc.h"

#define ROUND_S    1.0  /* a plan also depends on the time */
#define LOG_LAST_S 30   /* to get the rest of a log after the end */
#define CLEAN_S    60   /* for the Pods to end */

struct follow {
    const struct place *place;
    struct job         *job;
    struct observed    *observed;
    struct watch       *pods, *anchor;
    struct pod_log     *log;
    int64_t             tail; /* of that log; -1: all */
    char                log_uid[64]; /* of the launcher whose log that is */
    bool                is_log_done;
    int                 signals;
    int64_t             held_ns;  /* since when the log delays its deletion; 0: it does not */
    int64_t             ended_ns; /* 0: not yet */
    char                said[800];
};

static int  settle_once(const struct place *place, struct job *job, struct observed *observed,
                        struct plan *plan, struct error *err);
static void open_watches(struct follow *follow);
static void print_change(struct follow *follow, const struct plan *plan);
static int  step(struct follow *follow, bool *is_over, struct error *err);
static void step_log(struct follow *follow);
static bool does_log_delay(struct follow *follow, const struct plan *plan);
static bool is_final(struct follow *follow, const struct plan *plan);
static void say(struct follow *follow, const struct plan *plan);
static int  interrupted(struct follow *follow);
static int  result(const struct plan *plan, const struct job *job);
static void forget(void *arg);
static void forget_anchor(void *arg);
static void take(void *arg, json_t *object, bool is_gone);

static const struct watch_ops pod_ops = { .begin = forget, .change = take };
static const struct watch_ops anchor_ops = { .begin = forget_anchor, .change = take };

int follow_settle(const struct place *place, struct job *job, struct observed *observed)
{
    int64_t      until = clock_now_ns() + FOLLOW_SETTLE_S * NS_PER_S;
    struct plan  plan;
    struct error err;
    bool         is_done = false;
    int          status = 0;

    while (status == 0 && !is_done) {
        if (settle_once(place, job, observed, &plan, &err) < 0)
            status = plan.outcome != OUTCOME_NONE && plan.exit_code != 0 ? plan.exit_code
                                                                         : EXIT_CREATE;
        is_done = plan.count == 0 && !plan.is_unsettled;
        if (status == 0 && !is_done && clock_now_ns() > until) {
            err_set(&err, "after %d s: %s", FOLLOW_SETTLE_S, plan.why);
            status = EXIT_WAITED;
        }
        plan_clear(&plan);
    }
    if (status != 0)
        log_error("%s", err.text);
    return status;
}

int follow_wait(const struct place *place, struct job *job, struct observed *observed,
                int64_t tail)
{
    struct follow follow = { .place = place, .job = job, .observed = observed, .tail = tail };
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
    open_watches(&follow);
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
            log_error("the job may still be running; see `muster k8s get %s`", job->name);
            status = EXIT_UNREACHABLE;
            break;
        }
        api_wait(place->api, ROUND_S, follow.signals);
    }
    api_break_on(place->api, -1);
    pod_log_close(follow.log);
    watch_close(follow.pods);
    watch_close(follow.anchor);
    close(follow.signals);
    return status;
}

int follow_watch(const struct place *place, struct job *job, struct observed *observed)
{
    struct follow follow = { .place = place, .job = job, .observed = observed };
    struct error  err;
    struct plan   plan;
    bool          is_over = false;
    int           rc = 0;

    open_watches(&follow);
    while (!is_over) {
        rc = watch_step(follow.pods, &err);
        if (rc == 0)
            rc = watch_step(follow.anchor, &err);
        if (rc == 0)
            rc = place_refresh(job, observed, &err);
        if (rc < 0)
            break;
        observed_see(observed, api_now(place->api));
        plan_make(&plan, job, observed, api_now(place->api));
        print_change(&follow, &plan);
        is_over = plan.is_deleted || observed->outcome != OUTCOME_NONE;
        plan_clear(&plan);
        if (!is_over)
            api_wait(place->api, ROUND_S, -1);
    }
    if (rc < 0)
        log_error("%s", err.text);
    watch_close(follow.pods);
    watch_close(follow.anchor);
    return rc < 0 ? EXIT_UNREACHABLE : 0;
}

/* Prints the job's state if it has changed. */
static void print_change(struct follow *follow, const struct plan *plan)
{
    char      text[sizeof follow->said], clock[16];
    time_t    now = time(NULL);
    struct tm tm;

    snprintf(text, sizeof text, "%s%s%.760s",
             plan->is_deleted ? "DELETED" : show_status(plan, follow->job, follow->observed),
             plan->why[0] != '\0' ? "  " : "", plan->why);
    if (strcmp(text, follow->said) == 0)
        return;
    memcpy(follow->said, text, sizeof text);
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &tm));
    printf("%s  %s\n", clock, text);
    fflush(stdout);
}

/* *plan is valid even after an error. */
static int settle_once(const struct place *place, struct job *job, struct observed *observed,
                       struct plan *plan, struct error *err)
{
    if (execute_plan(place, job, observed, plan, err) < 0)
        return -1;
    if (plan->is_deleted)
        return err_set(err, "%s", plan->why);
    if (execute(place, job, observed, plan, err) < 0)
        return -1;
    /* Not if the outcome could not be stored: then another muster has changed the job. */
    if (plan->outcome != OUTCOME_NONE && (plan->count == 0 || observed->outcome != OUTCOME_NONE))
        return err_set(err, "%s", plan->why);
    if (plan->count > 0 || !plan->is_unsettled)
        return 0;
    api_wait(place->api, ROUND_S, -1);
    return execute_observe(place, job, observed, err);
}

static void open_watches(struct follow *follow)
{
    const char *name = follow->job->name;
    char       *pods = place_path(follow->place, KIND_POD, NULL);
    char       *anchors = place_path(follow->place, KIND_CONFIG_MAP, NULL);
    char       *of_job = xasprintf("labelSelector=" LABEL_JOB "%%3D%s", name);
    char       *of_name = xasprintf("fieldSelector=metadata.name%%3D%s", name);

    follow->pods = watch_open(follow->place->api, pods, of_job, &pod_ops, follow);
    follow->anchor = watch_open(follow->place->api, anchors, of_name, &anchor_ops, follow);
    free(pods);
    free(anchors);
    free(of_job);
    free(of_name);
}

/* Does one round. If *is_over, returns the exit status. */
static int step(struct follow *follow, bool *is_over, struct error *err)
{
    struct plan plan = { 0 };
    int         status = 0;

    if (watch_step(follow->pods, err) < 0 || watch_step(follow->anchor, err) < 0 ||
        execute_plan(follow->place, follow->job, follow->observed, &plan, err) < 0)
        return -1;
    step_log(follow);
    if (plan.outcome != OUTCOME_NONE && follow->ended_ns == 0)
        follow->ended_ns = clock_now_ns();
    say(follow, &plan);
    if (!does_log_delay(follow, &plan))
        status = execute(follow->place, follow->job, follow->observed, &plan, err);
    *is_over = status == 0 && is_final(follow, &plan);
    if (*is_over)
        status = result(&plan, follow->job);
    plan_clear(&plan);
    return status;
}

/* Prints the log of each launcher, one after the other. */
static void step_log(struct follow *follow)
{
    size_t                        number = object_launcher(follow->job);
    const struct observed_object *launcher = &follow->observed->object[number];
    bool has_log = launcher->exists &&
                   (launcher->phase == POD_RUNNING || observed_is_finished(launcher));
    json_t *container = template_container(follow->job->template);

    if (has_log && strcmp(follow->log_uid, launcher->uid) != 0 &&
        (follow->log == NULL || follow->is_log_done)) {
        pod_log_close(follow->log);
        follow->log =
            pod_log_open(follow->place, object_name(follow->job, number).text,
                         json_string_value(json_object_get(container, "name")), true, follow->tail);
        follow->tail = -1;
        memcpy(follow->log_uid, launcher->uid, sizeof follow->log_uid);
        follow->is_log_done = false;
    }
    if (follow->log == NULL) /* if the job has ended, there will be no log */
        follow->is_log_done = !has_log && follow->ended_ns != 0;
    else if (!follow->is_log_done)
        follow->is_log_done =
            pod_log_step(follow->log, !has_log || observed_is_finished(launcher) ||
                                          strcmp(follow->log_uid, launcher->uid) != 0);
}

/* Must the plan wait? A launcher that has ended is not deleted before its log is printed. */
static bool does_log_delay(struct follow *follow, const struct plan *plan)
{
    size_t                        number = object_launcher(follow->job), i;
    const struct observed_object *launcher = &follow->observed->object[number];

    for (i = 0; i < plan->count; i++)
        if (plan->action[i].kind == ACTION_DELETE && (plan->action[i].number == number ||
                                                      plan->action[i].number == OBJECT_ANCHOR))
            break;
    if (i == plan->count || follow->is_log_done || !launcher->exists ||
        !observed_is_finished(launcher)) {
        follow->held_ns = 0;
        return false;
    }
    if (follow->held_ns == 0)
        follow->held_ns = clock_now_ns();
    return clock_now_ns() < follow->held_ns + LOG_LAST_S * NS_PER_S;
}

/* Is the outcome stored in the anchor, cleanup done, and all output printed? */
static bool is_final(struct follow *follow, const struct plan *plan)
{
    size_t i, ending = 0;

    if (plan->is_deleted)
        return true;
    if (plan->outcome == OUTCOME_NONE || follow->held_ns != 0)
        return false;
    if (plan->count > 0) /* all objects go with the anchor */
        return plan->action[0].kind == ACTION_DELETE && plan->action[0].number == OBJECT_ANCHOR;
    for (i = OBJECT_PODS; i < follow->observed->count; i++)
        ending += follow->observed->object[i].is_ending;
    return (follow->is_log_done && ending == 0) ||
           clock_now_ns() > follow->ended_ns + CLEAN_S * NS_PER_S;
}

/* Prints what the job waits for, when that changes. */
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

static void forget_anchor(void *arg)
{
    ((struct follow *)arg)->observed->object[OBJECT_ANCHOR].exists = false;
}

static void take(void *arg, json_t *object, bool is_gone)
{
    struct follow *follow = arg;

    observed_take(follow->observed, follow->job, object, is_gone);
}
