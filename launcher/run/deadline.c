/* deadline.c - see deadline.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/deadline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "node/body.h"
#include "run/hang.h"
#include "run/rank_output.h"
#include "run/run.h"
#include "run/stacks.h"
#include "xalloc.h"
#include "xevent.h"

/* How long killed processes may write their core files, beyond the grace: an agent waits for
 * 600 s. */
#define STOP_CORE_S 620.0

/* The nodes of a world must confirm that everything has stopped. */
struct stop {
    struct run        *run;
    const struct plan *world;
    struct event      *event;
};

struct deadline {
    struct event *timeout, *others;
    struct stop  *stop; /* of the plan, then of each role */
    size_t        stops;
    size_t        nodes;
    bool         *is_dumping; /* by node: the user knows of its core files */
    bool          has_passed; /* --timeout */
    bool          has_stacks; /* of the ranks, when it had passed */
    struct strlist waits;     /* who waited for whom in NCCL then: lines */
};

static void timeout_cb(evutil_socket_t fd, short what, void *arg);
static void stacks_known(struct run *run);
static void stop_cb(evutil_socket_t fd, short what, void *arg);
static void others_cb(evutil_socket_t fd, short what, void *arg);
static struct stop *stop_of(const struct run *run, const struct plan *world);
static void extend(struct stop *stop);

struct deadline *deadline_new(struct run *run)
{
    struct deadline *deadline = xcalloc(1, sizeof *deadline);
    size_t           i;

    deadline->timeout = event_new(run->base, -1, 0, timeout_cb, run);
    deadline->others = event_new(run->base, -1, 0, others_cb, run);
    if (deadline->timeout == NULL || deadline->others == NULL)
        xalloc_die();
    deadline->stops = run->plan->roles + 1;
    deadline->stop = xcalloc(deadline->stops, sizeof *deadline->stop);
    for (i = 0; i < deadline->stops; i++) {
        deadline->stop[i] = (struct stop){ run, i > 0 ? &run->plan->role[i - 1] : run->plan,
                                           evtimer_new(run->base, stop_cb, &deadline->stop[i]) };
        if (deadline->stop[i].event == NULL)
            xalloc_die();
    }
    deadline->nodes = run->plan->nodes;
    deadline->is_dumping = xcalloc(run->plan->nodes, sizeof *deadline->is_dumping);
    return deadline;
}

void deadline_free(struct deadline *deadline)
{
    size_t i;

    if (deadline == NULL)
        return;
    event_free(deadline->timeout);
    for (i = 0; i < deadline->stops; i++)
        event_free(deadline->stop[i].event);
    free(deadline->stop);
    event_free(deadline->others);
    free(deadline->is_dumping);
    strlist_clear(&deadline->waits);
    free(deadline);
}

void deadline_reset(struct deadline *deadline)
{
    size_t i;

    for (i = 0; i < deadline->stops; i++)
        event_del(deadline->stop[i].event);
    event_del(deadline->others);
    memset(deadline->is_dumping, 0, deadline->nodes * sizeof *deadline->is_dumping);
}

void deadline_make_room(struct deadline *deadline, size_t nodes)
{
    free(deadline->is_dumping);
    deadline->is_dumping = xcalloc(nodes, sizeof *deadline->is_dumping);
    deadline->nodes = nodes;
}

bool deadline_has_passed(const struct deadline *deadline)
{
    return deadline->has_passed;
}

void deadline_start(struct run *run)
{
    struct timeval limit = clock_interval(run->options->timeout_s);

    if (run->options->timeout_s > 0 && plan_is_first(run->plan) &&
        !event_pending(run->deadline->timeout, EV_TIMEOUT, NULL))
        xevent_add(run->deadline->timeout, &limit);
}

static void timeout_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;

    (void)fd, (void)what;
    run->deadline->has_passed = true;
    if (run->reader.is_begun) /* no rank runs any more */
        return;
    outcome_cause(&run->outcome, EXIT_TIMEOUT, "time limit: --timeout %g s has passed",
                  run->options->timeout_s);
    if (run->phase.now != PHASE_RUNNING || run_is_exec(run)) {
        phase_stop(run);
        return;
    }
    log_info("--timeout has passed: asking where the ranks are");
    stacks_ask(run, stacks_known);
}

static void stacks_known(struct run *run)
{
    struct error err;

    run->deadline->has_stacks = true;
    hang_collectives(run, &run->deadline->waits);
    if (stacks_write(run, &run->deadline->waits, &err) < 0)
        log_warn("%s: %s", run->dir.path, err.text);
    phase_stop(run);
}

void deadline_report(const struct run *run, FILE *out)
{
    size_t i;

    if (!run->deadline->has_stacks || hang_is_over(run))
        return;
    for (i = 0; i < run->deadline->waits.count; i++)
        fprintf(out, "muster: %s\n", run->deadline->waits.item[i]);
    stacks_report(run, out);
}

void deadline_stop(struct run *run, const struct plan *world, double grace_s)
{
    struct timeval limit = clock_interval(grace_s + NODE_STOP_S);

    xevent_add(stop_of(run, world)->event, &limit);
}

void deadline_stopped(struct run *run, const struct plan *world)
{
    event_del(stop_of(run, world)->event);
}

static struct stop *stop_of(const struct run *run, const struct plan *world)
{
    return &run->deadline->stop[world == run->plan ? 0 : world - run->plan->role + 1];
}

/* A node that has not confirmed the end by now is lost: processes may be left there. */
static void stop_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval more = clock_interval(NODE_STOP_S);
    const struct stop   *stop = arg;
    const struct plan   *world = stop->world;
    struct run          *run = stop->run;
    bool                 is_awaited = false;
    size_t               i;

    (void)fd, (void)what;
    rank_output_note_reader(run);
    for (i = world->first_node; i < world->first_node + world->nodes; i++)
        if (run->node[i]->state == NODE_DONE)
            node_release(run->node[i]);
        else if (run->node[i]->state == NODE_STAYING)
            continue; /* this generation is over there */
        else if (!node_is_over(run->node[i]) && rank_output_is_awaited(run, run->node[i]))
            is_awaited = true;
        else if (!node_is_over(run->node[i]))
            node_lose(run->node[i], "stopping",
                      "muster clean shows what is left there, muster clean --kill kills it",
                      "the agent did not confirm that all processes are gone");
    if (is_awaited)
        xevent_add(stop->event, &more);
}

void deadline_await_others(struct run *run, double seconds)
{
    struct timeval limit = clock_interval(seconds);

    xevent_add(run->deadline->others, &limit);
}

bool deadline_awaits_others(const struct deadline *deadline)
{
    return event_pending(deadline->others, EV_TIMEOUT, NULL);
}

static void others_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;

    (void)fd, (void)what;
    if (run->phase.now == PHASE_RUNNING) /* else something else has stopped them */
        phase_stop(run);
}

/* A node that repeats DUMPING is given up STOP_CORE_S after the grace. */
void deadline_take_dumping(struct run *run, struct node *node, const json_t *body)
{
    bool  *is_told = &run->deadline->is_dumping[node->index];
    double stopping_s = (double)(clock_now_ns() - node->stop_ns) / NS_PER_S;

    if (!*is_told)
        log_warn("%s: waiting for the core files of %" PRId64 " processes", node->plan->host,
                 body_int(body, "processes", 0));
    *is_told = true;
    if (node->stop_ns == 0 || stopping_s >= run->options->grace_s + STOP_CORE_S)
        return;
    extend(stop_of(run, run->plan));
    if (run->plan->roles > 0)
        extend(stop_of(run, plan_world(run->plan, node->index)));
}

/* Moves the timer, if it is set, to NODE_STOP_S from now, unless it fires later anyway. */
static void extend(struct stop *stop)
{
    const struct timeval more = clock_interval(NODE_STOP_S);
    struct timeval       limit, later;

    evutil_gettimeofday(&later, NULL);
    evutil_timeradd(&later, &more, &later);
    if (evtimer_pending(stop->event, &limit) && limit.tv_sec < later.tv_sec)
        xevent_add(stop->event, &more);
}
