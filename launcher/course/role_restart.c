/* role_restart.c - see role_restart.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/role_restart.h"
#include "course/slow_nodes.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "course/checkpoints.h"
#include "course/collective_watch.h"
#include "course/ending.h"
#include "course/ending_event.h"
#include "course/flight.h"
#include "course/generation_words.h"
#include "course/metrics.h"
#include "elastic/policy.h"
#include "log.h"
#include "run/deadline.h"
#include "run/phase.h"
#include "run/rank_keys.h"
#include "run/rank_output.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/run_status.h"
#include "run/steps.h"
#include "xalloc.h"
#include "xevent.h"

/* In order; STARTS leads back to RUNS. */
enum role_state {
    ROLE_RUNS,
    ROLE_AWAITS, /* a rank has failed; the others may fail in the same way: timer */
    ROLE_STOPS,  /* until all its nodes stay */
    ROLE_WAITS,  /* for the delay before a restart: timer */
    ROLE_STARTS, /* until all its nodes are ready */
};

struct role_restart {
    struct run         *run;
    struct plan        *world;
    enum role_state     state;
    struct policy       policy;
    struct event       *timer;
    struct failed_rank  abort; /* rank -1: none has aborted this generation */
    int64_t             go_ns; /* of this generation; 0: of the first */
};

static struct role_restart *role_of(const struct run *run, int rank);
static void                 stop(struct role_restart *role);
static void                 look(struct role_restart *role);
static bool                 are_all(const struct role_restart *role, enum node_state state);
static void                 over(struct role_restart *role);
static struct failed_rank   failed_rank(const struct role_restart *role);
static void                 end(struct role_restart *role, const struct policy_event *event,
                                enum policy_why why);
static void                 begin_wait(struct role_restart *role, const struct policy_event *event,
                                       const struct policy_action *action);
static void                 timer_cb(evutil_socket_t fd, short what, void *arg);
static void                 set_timer(struct role_restart *role, double seconds);
static void                 start(struct role_restart *role);

void role_restart_open(struct run *run)
{
    struct role_restart *role;
    size_t               i;

    if (run->options->restart != RESTART_ROLE)
        return;
    run->role_restart = xcalloc(run->plan->roles, sizeof *run->role_restart);
    for (i = 0; i < run->plan->roles; i++) {
        role = &run->role_restart[i];
        *role = (struct role_restart){ .run = run, .world = &run->plan->role[i],
                                       .abort.rank = -1 };
        role->timer = evtimer_new(run->base, timer_cb, role);
        if (role->timer == NULL)
            xalloc_die();
    }
}

void role_restart_close(struct run *run)
{
    size_t i;

    for (i = 0; run->role_restart != NULL && i < run->plan->roles; i++)
        event_free(run->role_restart[i].timer);
    free(run->role_restart);
    run->role_restart = NULL;
}

void role_restart_again(struct run *run)
{
    size_t i;

    for (i = 0; run->role_restart != NULL && i < run->plan->roles; i++) {
        struct role_restart *role = &run->role_restart[i];

        event_del(role->timer);
        role->state = ROLE_RUNS;
        role->policy = (struct policy){ .restarts = role->policy.restarts,
                                        .stalls = role->policy.stalls };
        role->abort.rank = -1;
        role->go_ns = 0;
    }
}

/* --- the end of a generation of a role ---------------------------------------- */

bool role_restart_exit(struct run *run, int rank, bool is_failure)
{
    struct role_restart *role = role_of(run, rank);
    double               others_s;

    if (role == NULL)
        return false;
    if ((!is_failure && role->state != ROLE_AWAITS) || role->state > ROLE_AWAITS)
        return true;
    others_s = ending_others_s(run, role->world, &role->policy, false);
    if (others_s == 0) {
        stop(role);
    } else if (role->state == ROLE_RUNS) {
        role->state = ROLE_AWAITS;
        set_timer(role, others_s);
    }
    return true;
}

bool role_restart_abort(struct run *run, int rank, int code)
{
    struct role_restart *role = role_of(run, rank);

    if (role == NULL)
        return false;
    if (role->abort.rank < 0)
        role->abort = (struct failed_rank){ .rank = rank, .is_abort = true, .code = code,
                                            .at_ns = clock_now_ns() };
    if (role->state <= ROLE_AWAITS)
        stop(role);
    return true;
}

/* NULL: roles have one fate, or the run is ending anyway. */
static struct role_restart *role_of(const struct run *run, int rank)
{
    if (run->role_restart == NULL || run->phase.now != PHASE_RUNNING || run->outcome.cause != 0)
        return NULL;
    return &run->role_restart[plan_world_of_rank(run->plan, rank) - run->plan->role];
}

static void stop(struct role_restart *role)
{
    event_del(role->timer);
    role->state = ROLE_STOPS;
    log_info("role %s: stopping", role->world->role_name);
    phase_stop_role(role->run, role->world);
    run_changed(role->run);
}

void role_restart_look(struct run *run)
{
    size_t i;

    for (i = 0; run->role_restart != NULL && i < run->plan->roles; i++)
        if (run->phase.now == PHASE_RUNNING)
            look(&run->role_restart[i]);
}

static void look(struct role_restart *role)
{
    if (role->state == ROLE_STOPS && are_all(role, NODE_STAYING)) {
        over(role);
    } else if (role->state == ROLE_STARTS && are_all(role, NODE_READY)) {
        role->state = ROLE_RUNS;
        role->go_ns = clock_now_ns();
        rendezvous_serve(role->run, role->world);
        phase_run_role(role->run, role->world);
    }
}

static bool are_all(const struct role_restart *role, enum node_state state)
{
    const struct plan *world = role->world;
    size_t             i;

    for (i = world->first_node; i < world->first_node + world->nodes; i++)
        if (role->run->node[i]->state != state)
            return false;
    return true;
}

static void over(struct role_restart *role)
{
    const struct failed_rank failed = failed_rank(role);
    const int64_t            go_ns = role->go_ns != 0 ? role->go_ns : role->run->phase.go_ns;
    struct policy_event      event = ending_of_role(role->run, role->world, &failed, go_ns);
    struct policy_action     action;

    deadline_stopped(role->run, role->world);
    if (event.port_taken)
        generation_tell_port(role->run, &event);
    action = policy_next(&role->policy, &role->run->rules, NULL, &event);
    if (action.what == POLICY_DO_WAIT)
        begin_wait(role, &event, &action);
    else
        end(role, &event, action.why);
}

static struct failed_rank failed_rank(const struct role_restart *role)
{
    const struct failed_rank failed = ending_failed_rank(role->run, role->world);

    return failed.rank >= 0 ? failed : role->abort;
}

/* The failure of the role is that of the run. */
static void end(struct role_restart *role, const struct policy_event *event, enum policy_why why)
{
    char text[GENERATION_WORDS_SIZE];

    if (outcome_first_rank(&role->run->outcome, role->world) < 0) {
        generation_rank_words(role->run, &role->abort, text);
        outcome_aborted(&role->run->outcome, role->abort.rank, role->abort.code, "%s", text);
    }
    if (why == POLICY_WHY_NO_PROGRESS)
        outcome_give_up(&role->run->outcome,
                        generation_stall_words(role->run, role->world, role->policy.stalls));
    generation_tell_end(role->run, role->world->role_name, event, why, NULL);
    phase_stop_last(role->run);
}

/* --- the next one --------------------------------------------------------------- */

static void begin_wait(struct role_restart *role, const struct policy_event *event,
                       const struct policy_action *action)
{
    const struct failed_rank failed = failed_rank(role);
    struct run              *run = role->run;
    char                     why[GENERATION_WORDS_SIZE];

    generation_rank_words(run, &failed, why);
    evidence_tell(&run->outcome);
    flight_tell(run);
    metrics_restart(run, role->world, event->end);
    outcome_restart_role(&run->outcome, role->world, event->code, why);
    ending_event_role(run, role->world, why);
    plan_next_generation(role->world);
    role->abort.rank = -1;
    rank_output_again(run, role->world);
    rank_keys_again(run, role->world);
    run_status_again(run, role->world);
    steps_again(run, role->world);
    checkpoints_again(run, role->world);
    slow_nodes_again(run, role->world);
    collective_watch_again(run, role->world);
    if (outcome_only_services_run(&run->outcome)) {
        phase_stop(run); /* the others have ended while it was stopped */
        return;
    }
    generation_tell_same(role->world, why, action->delay_s,
                         action->why == POLICY_WHY_RESTART ? role->policy.restarts : 0);
    role->state = ROLE_WAITS;
    set_timer(role, action->delay_s);
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct policy_event event = { .kind = POLICY_EVENT_TIME, .now_s = clock_now_s() };
    struct role_restart      *role = arg;

    (void)fd, (void)what;
    if (role->run->phase.now != PHASE_RUNNING)
        return;
    if (role->state == ROLE_AWAITS)
        stop(role);
    else if (policy_next(&role->policy, &role->run->rules, NULL, &event).what == POLICY_DO_START)
        start(role);
    else
        set_timer(role, policy_due_s(&role->policy, &role->run->rules, NULL, event.now_s));
}

static void set_timer(struct role_restart *role, double seconds)
{
    const struct timeval after = clock_interval(seconds > 0 ? seconds : 0);

    xevent_add(role->timer, &after);
}

static void start(struct role_restart *role)
{
    role->state = ROLE_STARTS;
    rendezvous_again(role->run, role->world);
    phase_prepare_role(role->run, role->world);
    run_changed(role->run);
}
