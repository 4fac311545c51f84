/* gate.c - see gate.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "gate/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exit_code.h"
#include "gate/gate_check.h"
#include "node/test_switch.h"
#include "task/task.h"
#include "xalloc.h"
#include "xevent.h"

#define LOOK_S 0.25 /* between two looks at GPUs that are not free yet */

/* The last one begins when the others have passed. */
static const struct gate_check *const checks[] = { &storage_check, &ports_check, &gpus_check,
                                                   &program_check };
#define CHECKS (sizeof checks / sizeof *checks)
#define LAST (CHECKS - 1)

/* A check at work. */
struct work {
    struct gate *gate;
    json_t      *request; /* NULL: there is nothing to check */
    struct task *task;    /* NULL: it has not begun, has passed, or waits for another look */
    json_t      *found;
    bool         is_late, has_passed;
};

struct gate {
    struct event_base *base;
    gate_over         *over;
    void              *arg;
    struct work        work[CHECKS];
    struct gate_memory memory;
    struct event      *settle, *again;
    int64_t            begun_ns, ended_ns;
};

static bool begin(struct gate *gate, size_t which, struct failure *failure);
static void line_cb(json_t *body, void *arg);
static void end_cb(json_t *body, void *arg);
static void settle_cb(evutil_socket_t fd, short what, void *arg);
static bool settle(struct gate *gate, size_t which, struct failure *failure);
static bool has_time(const struct gate *gate);
static void again_cb(evutil_socket_t fd, short what, void *arg);
static bool all_have_passed(const struct gate *gate, size_t count);
static void add_child(struct failure *failure, const struct task *task);
static void tell(struct gate *gate, const struct failure *failure);

struct gate *gate_new(struct event_base *base, gate_over *over, void *arg)
{
    struct gate *gate = xcalloc(1, sizeof *gate);
    size_t       i;

    *gate = (struct gate){ .base = base, .over = over, .arg = arg };
    for (i = 0; i < CHECKS; i++)
        gate->work[i].gate = gate;
    gate->settle = xevent_new(base, -1, settle_cb, gate);
    gate->again = xevent_new(base, -1, again_cb, gate);
    return gate;
}

void gate_free(struct gate *gate)
{
    if (gate == NULL)
        return;
    gate_stop(gate);
    event_free(gate->settle);
    event_free(gate->again);
    json_decref(gate->memory.ports);
    json_decref(gate->memory.gpus);
    json_decref(gate->memory.holders);
    free(gate);
}

void gate_stop(struct gate *gate)
{
    size_t i;

    for (i = 0; gate != NULL && i < CHECKS; i++) {
        struct work *work = &gate->work[i];

        task_free(work->task);
        json_decref(work->request);
        json_decref(work->found);
        *work = (struct work){ .gate = gate };
    }
    if (gate == NULL)
        return;
    event_del(gate->settle);
    event_del(gate->again);
}

bool gate_begin(struct gate *gate, const struct node_plan *plan)
{
    const struct timeval now = { 0 };
    bool                 is_any = false;
    size_t               i;

    gate_stop(gate);
    gate->begun_ns = gate->ended_ns = clock_now_ns();
    for (i = 0; i < CHECKS; i++) {
        gate->work[i].request = checks[i]->request(plan, &gate->memory);
        gate->work[i].has_passed = gate->work[i].request == NULL;
        is_any = is_any || gate->work[i].request != NULL;
    }
    if (is_any)
        xevent_add(gate->settle, &now);
    else
        gate->ended_ns = clock_now_ns();
    return !is_any;
}

void gate_know_holders(struct gate *gate, const json_t *holders)
{
    if (gate->memory.holders == NULL && json_is_array(holders))
        gate->memory.holders = json_deep_copy(holders);
}

json_t *gate_report(const struct gate *gate)
{
    json_t *names = json_array();
    size_t  i;

    for (i = 0; i < CHECKS; i++)
        if (gate->work[i].request != NULL)
            json_array_append_new(names, json_string(checks[i]->task.name));
    return json_pack("{s:f, s:o}", "s", (double)(gate->ended_ns - gate->begun_ns) / NS_PER_S,
                     "checks", names);
}

double gate_limit_s(double usual_s)
{
    const char *other = test_switch(TEST_SWITCH_GATE_S);

    return other != NULL ? strtod(other, NULL) : usual_s;
}

/* Begins what can begin, and judges what has ended. Only here tasks are freed, which they must
 * not be in their callbacks. */
static void settle_cb(evutil_socket_t fd, short what, void *arg)
{
    struct gate   *gate = arg;
    struct failure failure;
    size_t         i;

    (void)fd, (void)what;
    for (i = 0; i < CHECKS; i++) {
        struct work *work = &gate->work[i];

        if (work->has_passed || (i == LAST && !all_have_passed(gate, LAST)) ||
            event_pending(gate->again, EV_TIMEOUT, NULL))
            continue;
        if (work->task == NULL ? !begin(gate, i, &failure) : !settle(gate, i, &failure)) {
            tell(gate, &failure);
            return;
        }
    }
    if (all_have_passed(gate, CHECKS))
        tell(gate, NULL);
}

/* False with failure: there is no process for it. */
static bool begin(struct gate *gate, size_t which, struct failure *failure)
{
    static const struct task_ops ops = { line_cb, end_cb };
    struct work                 *work = &gate->work[which];
    struct task_request          request = { .row = &checks[which]->task };
    struct error                 why;

    request.deadline_s = gate_limit_s(checks[which]->limit_s) + checks[which]->round_s;
    json_decref(work->found);
    work->found = json_object();
    work->is_late = false;
    work->task = task_begin(gate->base, &request, work->request, &ops, work, &why);
    if (work->task != NULL)
        return true;
    failure_set(failure, EXIT_CREATE, "", "%s", why.text);
    return false;
}

static void line_cb(json_t *body, void *arg)
{
    struct work *work = arg;

    json_object_update(work->found, json_object_get(body, "line"));
    json_decref(body);
}

static void end_cb(json_t *body, void *arg)
{
    const struct timeval now = { 0 };
    struct work         *work = arg;

    work->is_late = json_is_true(json_object_get(body, "timed_out"));
    json_decref(body);
    xevent_add(work->gate->settle, &now);
}

/* False with failure: the node is not fit. */
static bool settle(struct gate *gate, size_t which, struct failure *failure)
{
    const struct timeval     pause = clock_interval(LOOK_S);
    const struct gate_check *check = checks[which];
    struct work             *work = &gate->work[which];
    enum gate_verdict        verdict;

    if (!task_is_over(work->task))
        return true;
    if (work->is_late) {
        check->late(work->found, gate_limit_s(check->limit_s) + check->round_s, failure);
        add_child(failure, work->task);
        return false;
    }
    verdict = check->judge(work->request, work->found, &gate->memory, failure);
    if (verdict == GATE_BAD || (verdict == GATE_WAIT && !has_time(gate)))
        return false;
    task_free(work->task);
    work->task = NULL;
    work->has_passed = verdict == GATE_WELL || (verdict == GATE_RATHER && !has_time(gate));
    if (!work->has_passed)
        xevent_add(gate->again, &pause);
    return true;
}

static bool has_time(const struct gate *gate)
{
    return (double)(clock_now_ns() - gate->begun_ns) / NS_PER_S < gate_limit_s(GATE_FREE_S);
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    settle_cb(fd, what, arg);
}

static bool all_have_passed(const struct gate *gate, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (!gate->work[i].has_passed)
            return false;
    return true;
}

/* What cannot be killed stays, until the storage or the driver answers. */
static void add_child(struct failure *failure, const struct task *task)
{
    size_t used = strlen(failure->why.text);
    pid_t  pid = task_stuck(task);

    if (pid > 0)
        snprintf(failure->why.text + used, sizeof failure->why.text - used,
                 "; process %d of muster's agent hangs in the kernel there", (int)pid);
}

static void tell(struct gate *gate, const struct failure *failure)
{
    size_t i;

    gate->ended_ns = clock_now_ns();
    for (i = 0; i < CHECKS; i++) {
        task_free(gate->work[i].task);
        gate->work[i].task = NULL;
    }
    event_del(gate->again);
    gate->over(failure, gate->arg);
}
