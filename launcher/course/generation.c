/* generation.c - see generation.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/generation.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "course/checkpoints.h"
#include "course/collective_watch.h"
#include "course/ending.h"
#include "course/ending_event.h"
#include "course/flight.h"
#include "course/generation_words.h"
#include "course/metrics.h"
#include "course/role_restart.h"
#include "course/slow_nodes.h"
#include "course/suspicion.h"
#include "course/world.h"
#include "elastic/next_world.h"
#include "elastic/policy.h"
#include "history/resume_line.h"
#include "hostrange.h"
#include "log.h"
#include "run/data_shards.h"
#include "run/deadline.h"
#include "run/hang.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/rank_input.h"
#include "run/rank_keys.h"
#include "run/rank_output.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/run_status.h"
#include "run/steps.h"
#include "run/spare.h"
#include "run/stacks.h"
#include "xalloc.h"
#include "xevent.h"

struct generation {
    bool                is_parked;  /* the user knows that the run waits for a node */
    bool                is_change;  /* this generation ends because the world must change */
    double              within_s;   /* of muster scale, until its size is reached; < 0: none */
    char               *unreported; /* how the last one ended; NULL: the user knows it */
    char               *lost;       /* the nodes that the last one lost: "te3", or NULL */
    struct policy_event last;       /* how the last generation ended */
    enum policy_why     why;        /* why no other one follows; WHY_NONE: not decided */
    int                 no_start_code; /* of a node that could not start its ranks */
};

static void                  look_cb(evutil_socket_t fd, short what, void *arg);
static bool                  may_move_ports(const struct run *run);
static void                  over(struct run *run);
static void                  change(struct run *run);
static void                  depart(struct run *run);
static enum membership_stage stage_of(const struct run *run);
static void                  end_for_change(struct run *run, const char *text);
static void                  decide(struct run *run);
static void                  look_later(struct run *run);
static void                  carry_out(struct run *run, const struct policy_action *action);
static void                  ask_to_end(struct run *run);
static void                  tell_policy(struct run *run, enum policy_event_kind kind);
static void                  note_lost(struct run *run, const struct policy_event *event);
static void                  begin_again(struct run *run, const struct policy_event *event,
                                         const struct policy_action *action);
static void                  tell_park(struct run *run, const char *why);
static bool                  is_same_world(const struct run *run);
static void                  start(struct run *run);
static void                  wait_is_over(struct run *run, enum policy_why why);
static void                  forget(struct run *run);

void generation_open(struct run *run)
{
    const struct options *options = run->options;
    struct error          err;

    run->rules = (struct policy_rules){ .max_restarts = options->max_restarts,
                                        .max_no_progress = options->max_no_progress,
                                        .delay_s = options->restart_delay_s,
                                        .may_move_port = may_move_ports(run),
                                        .max_wait_s = options_max_wait_s(options),
                                        .grow_s = options->members.grow_s };
    if (restart_on_parse(options->restart_on, &run->rules.on, &err) < 0)
        log_warn("--restart-on: %s", err.text); /* not reached: options.c has checked it */
    world_open(run);
    if (run->plan->source == NULL || run_is_exec(run))
        run->rules.members.goes_on = false;
    run->pool = pool_new(run, &spare_node_ops);
    run->policy.changed_s = clock_now_s();
    run->generation = xcalloc(1, sizeof *run->generation);
    run->generation->within_s = -1;
    role_restart_open(run);
    suspicion_open(run);
    run->look = evtimer_new(run->base, look_cb, run);
    if (run->look == NULL)
        xalloc_die();
}

/* Are all MASTER_PORTs muster's choice? */
static bool may_move_ports(const struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->roles; i++)
        if (run->plan->role[i].options->master_port > 0)
            return false;
    return run->options->master_port == 0;
}

void generation_close(struct run *run)
{
    if (run->generation == NULL)
        return;
    role_restart_close(run);
    suspicion_close(run->suspicion);
    free(run->generation->lost);
    free(run->generation->unreported);
    free(run->generation);
    generation_look_no_more(run);
}

void generation_look_no_more(struct run *run)
{
    if (run->look != NULL)
        event_free(run->look);
    run->look = NULL;
}

bool generation_is_last(const struct run *run)
{
    return run->reader.is_begun ||
           (run->phase.now == PHASE_STOPPING && (ending_is_wanted(run) || !run_goes_on(run)));
}

/* --- what follows, whenever something has changed ---------------------------- */

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;

    (void)fd, (void)what;
    role_restart_look(run);
    if (phase_is_over(run))
        over(run);
    if (pool_is_ending(run))
        phase_maybe_end(run);
    if (run->policy.phase == POLICY_OVER ||
        (run->phase.over == run->plan->nodes && !run_goes_on(run)))
        return;
    depart(run);
    change(run);
    if (run->phase.now != PHASE_STOPPING) /* else over() decides */
        decide(run);
    look_later(run);
}

/* Decides what follows a generation. */
static void over(struct run *run)
{
    struct generation   *generation = run->generation;
    struct policy_event  event = ending_describe(run, run->generation->is_change);
    struct policy_action action;

    membership_over(pool_members(run), run_goes_on(run) && notice_was_given(run->notice));
    note_lost(run, &event);
    suspicion_judge(run, &event);
    action = policy_next(&run->policy, &run->rules, pool_members(run), &event);
    if (action.what == POLICY_DO_WAIT || action.what == POLICY_DO_PARK) {
        begin_again(run, &event, &action);
        return;
    }
    generation->last = event;
    generation->why = action.why;
    phase_leave(run);
}

/* The ranks have saved, or their time is over: the next world may begin. */
static void change(struct run *run)
{
    const char *reason = notice_change_due(run->notice);

    if (reason == NULL || run->phase.now != PHASE_RUNNING)
        return;
    if (!next_world_is_same(pool_members(run), &run->rules.members)) {
        end_for_change(run, reason);
        return;
    }
    log_note("%s: not now, since the next generation would have the same nodes", reason);
    notice_take_back(run);
    tell_policy(run, POLICY_EVENT_KEPT);
}

/* Carries out what elastic/membership.h decides about hosts that must leave. */
static void depart(struct run *run)
{
    struct membership_action action;
    char                     text[GENERATION_WORDS_SIZE];

    while ((action = membership_next(pool_members(run), stage_of(run), clock_now_s())).what !=
           MEMBERSHIP_DO_NOTHING)
        switch (action.what) {
        case MEMBERSHIP_DO_TELL:
            notice_leaves(run, action.which, action.departure);
            break;
        case MEMBERSHIP_DO_TAKE_BACK:
            notice_none_leaves(run);
            break;
        case MEMBERSHIP_DO_SEND_AWAY:
            pool_leave(run, action.which);
            break;
        case MEMBERSHIP_DO_END:
            snprintf(text, sizeof text, "node %s leaves (%s)", pool_name(run, action.which),
                     action.departure->reason);
            end_for_change(run, text);
            break;
        case MEMBERSHIP_DO_NOTHING:
            break;
        }
}

static enum membership_stage stage_of(const struct run *run)
{
    switch (run->phase.now) {
    case PHASE_CONNECTING:
    case PHASE_PREPARING:
        return MEMBERSHIP_STARTING;
    case PHASE_RUNNING:
        return MEMBERSHIP_RUNNING;
    case PHASE_STOPPING:
    case PHASE_RESTARTING:
        break;
    }
    return MEMBERSHIP_STOPPED;
}

/* Ends this generation so that the next one has other nodes. An earlier cause stays. */
static void end_for_change(struct run *run, const char *text)
{
    run->generation->is_change = run->outcome.cause == 0;
    outcome_cause(&run->outcome, EXIT_LOST, "%s", text);
    phase_stop(run);
}

static void decide(struct run *run)
{
    const struct policy_event event = { .kind = POLICY_EVENT_TIME, .now_s = clock_now_s() };
    struct policy_action      action;
    size_t                    which;

    while ((which = membership_dial(pool_members(run), &run->rules.members, event.now_s)) !=
           MEMBERSHIP_NONE)
        spare_connect(run, which);
    while ((which = membership_surplus(pool_members(run), &run->rules.members)) !=
           MEMBERSHIP_NONE)
        pool_leave(run, which);
    if (run->phase.now == PHASE_RUNNING || run->phase.now == PHASE_RESTARTING) {
        action = policy_next(&run->policy, &run->rules, pool_members(run), &event);
        carry_out(run, &action);
    }
}

void generation_lost_node(struct run *run, const struct node *node)
{
    const struct policy_event event = { .kind = POLICY_EVENT_NODE_LOST,
                                        .now_s = clock_now_s() };

    if (run_goes_on(run)) {
        log_warn("%s: lost: %s", node->plan->host, node->failure->text);
        membership_lost(pool_members(run), pool_members(run)->place[node->index], clock_now_s(),
                        false);
        run_changed(run);
        return;
    }
    policy_next(&run->policy, &run->rules, pool_members(run), &event);
    log_note("no restart: not every node is there (%s)", generation_missing(run));
    phase_stop(run);
}

/* Looks again when time alone has consequences, unless it will look sooner anyway. */
static void look_later(struct run *run)
{
    const double   now_s = clock_now_s();
    double         due_s = membership_due_s(pool_members(run), now_s), policy_s = -1;
    struct timeval wait;

    if (run->phase.now == PHASE_RUNNING || run->phase.now == PHASE_RESTARTING)
        policy_s = policy_due_s(&run->policy, &run->rules, pool_members(run), now_s);
    if (due_s < 0 || (policy_s >= 0 && policy_s < due_s))
        due_s = policy_s;
    wait = clock_interval(due_s);
    if (due_s >= 0 && !event_pending(run->look, EV_TIMEOUT, NULL))
        xevent_add(run->look, &wait);
}

static void carry_out(struct run *run, const struct policy_action *action)
{
    switch (action->what) {
    case POLICY_DO_START:
        start(run);
        break;
    case POLICY_DO_STOP:
        ask_to_end(run);
        break;
    case POLICY_DO_PARK:
        tell_park(run, "a node is missing");
        break;
    case POLICY_DO_END:
        wait_is_over(run, action->why);
        break;
    case POLICY_DO_WAIT:
    case POLICY_DO_NOTHING:
        break;
    }
}

/* Lets the ranks save first. */
static void ask_to_end(struct run *run)
{
    const struct generation *generation = run->generation;
    const size_t             target = run->rules.members.target;
    char                    *hosts = generation_too_many(run, &run->rules.members);
    char                     reason[80];
    double                   within_s = generation->within_s;

    if (within_s < 0)
        within_s = notice_save_s(run);
    if (run->policy.is_scaled)
        snprintf(reason, sizeof reason, "muster scale: %zu node%s", target,
                 target == 1 ? "" : "s");
    else
        snprintf(reason, sizeof reason, "more nodes are available: the world grows");
    log_note("%s; the next generation starts after a checkpoint, in %g s at most", reason,
             within_s);
    notice_change(run, within_s, hosts, reason);
    free(hosts);
}

int generation_scale(struct run *run, size_t nodes, double within_s, struct error *err)
{
    struct generation *generation = run->generation;

    if (!run->rules.members.goes_on || !run->rules.members.is_elastic)
        return err_set(err, "its number of nodes is fixed; only a run that was started with "
                            "--nnodes MIN:MAX or --recovery elastic can be scaled");
    if (next_world_may_have(pool_members(run), &run->rules.members, nodes, err) < 0)
        return -1;
    run->rules.members.target = nodes;
    generation->within_s = within_s;
    tell_policy(run, POLICY_EVENT_SCALE);
    run_status_beat(run); /* muster resume must know it, too */
    run_changed(run);
    return 0;
}

static void tell_policy(struct run *run, enum policy_event_kind kind)
{
    const struct policy_event event = { .kind = kind, .now_s = clock_now_s() };

    policy_next(&run->policy, &run->rules, pool_members(run), &event);
}

/* Notes the nodes that ended the generation, and those that are missing for the next one. If
 * it lived long, earlier failures do not count. */
static void note_lost(struct run *run, const struct policy_event *event)
{
    struct membership         *members = pool_members(run);
    const struct conn_failure *failure;
    struct strlist             names = { 0 };
    size_t                     i;

    free(run->generation->lost);
    run->generation->lost = NULL;
    if (event->end == POLICY_END_RANK)
        membership_blame(members, run->outcome.first_rank);
    if (!run_goes_on(run))
        return;
    if (event->lived_s > POLICY_LONG_S)
        membership_proved(members);
    for (i = 0; i < run->plan->nodes; i++) {
        if (run->node[i]->state == NODE_STAYING)
            continue;
        failure = run->outcome.node[i];
        membership_lost(members, members->place[i], clock_now_s(), failure != NULL);
        if (failure != NULL && conn_failure_is_no_start(failure)) {
            membership_refused(members, members->place[i]);
            run->generation->no_start_code = failure->exit_code;
        }
        strlist_add(&names, plan_label(&run->plan->node[i]));
    }
    if (names.count > 0)
        run->generation->lost = hostrange_fold(&names);
    strlist_clear(&names);
}

double generation_others_s(const struct run *run)
{
    return ending_others_s(run, run->plan, &run->policy, run->generation->is_change);
}

/* --- the end ---------------------------------------------------------------- */

/* If agents could not stay, the policy has not decided yet. */
void generation_end(struct run *run)
{
    struct generation *generation = run->generation;

    if (run_is_exec(run))
        return;
    if (run->policy.phase != POLICY_OVER) {
        generation->last = ending_describe(run, run->generation->is_change);
        suspicion_judge(run, &generation->last);
        generation->why =
            policy_next(&run->policy, &run->rules, pool_members(run), &generation->last).why;
    }
    generation_tell_port(run, &generation->last);
    if (generation->why == POLICY_WHY_NO_PROGRESS)
        outcome_give_up(&run->outcome, generation_stall_words(run, run->plan, run->policy.stalls));
    if ((run->options->max_restarts > 0 || run->rules.members.goes_on) &&
        run->outcome.has_begun)
        generation_tell_end(run, NULL, &generation->last, generation->why,
                            generation_missing(run));
    suspicion_tell(run, false);
    generation_tell_suspects(run);
}

/* --- the next generation ---------------------------------------------------- */

/* Reports the next world now if it stays the same; else start() does, once it is known. */
static void begin_again(struct run *run, const struct policy_event *event,
                        const struct policy_action *action)
{
    char why[GENERATION_WORDS_SIZE];

    generation_why_words(run, run->generation->lost, why);
    generation_tell_hang(run);
    evidence_tell(&run->outcome);
    flight_tell(run);
    suspicion_tell(run, true);
    ending_event_restart(run, event->end, why);
    metrics_restart(run, run->plan, event->end);
    outcome_restart(&run->outcome, why);
    forget(run);
    free(run->generation->unreported);
    run->generation->unreported = NULL;
    if (action->what == POLICY_DO_PARK)
        tell_park(run, why);
    else if (is_same_world(run))
        generation_tell_same(run->plan, why, action->delay_s,
                             action->why == POLICY_WHY_RESTART ? run->policy.restarts : 0);
    else
        run->generation->unreported = xstrdup(why);
    if (run->generation->unreported != NULL && action->delay_s >= 1)
        log_note("%s; the next generation starts %sin %.0f s", why,
                 event->dead_in_s >= action->delay_s ? "when its lease expires, " : "",
                 action->delay_s);
}

static void tell_park(struct run *run, const char *why)
{
    run->generation->is_parked = true;
    generation_tell_park(run, why, &run->rules);
}

/* Does the next generation have the same nodes, and do all of them wait for it? */
static bool is_same_world(const struct run *run)
{
    return !run_goes_on(run) || (next_world_is_same(pool_members(run), &run->rules.members) &&
                                 generation_missing(run) == NULL);
}

static void start(struct run *run)
{
    struct generation *generation = run->generation;
    bool               is_same = is_same_world(run);
    size_t            *world, places;
    struct strlist     before = ending_event_hosts(run);
    struct error       err;
    char              *changes;

    if (is_same) {
        if (generation->is_parked)
            generation_tell_same(run->plan, "its nodes are back", 0, 0);
        rendezvous_again(run, run->plan);
    } else {
        world = next_world_new(pool_members(run), &run->rules.members, &places);
        changes = generation_changes(run, generation->lost, world, places);
        if (world_change(run, &run->rules.members, world, places, &err) < 0) {
            outcome_cause(&run->outcome, EXIT_DATA, "%s", err.text);
            phase_stop(run);
        } else {
            generation_tell_world(run,
                                  generation->unreported != NULL ? generation->unreported
                                                                 : "more nodes are available",
                                  changes, run->policy.restarts);
            ending_event_nodes(run, &before);
            rendezvous_anew(run);
        }
        free(changes);
        free(world);
    }
    strlist_clear(&before);
    generation->is_parked = false;
    if (!run->policy.is_scaled)
        generation->within_s = -1;
    if (run->phase.now == PHASE_RESTARTING && generation_missing(run) == NULL) {
        rank_input_again(run);
        phase_prepare(run);
    } else {
        phase_stop(run); /* node 0 cannot be reached: the next generation does without it */
    }
    run_changed(run);    /* a node may be due to leave already */
}

/* --max-wait has passed, or there is no use in waiting so long. */
static void wait_is_over(struct run *run, enum policy_why why)
{
    struct generation *generation = run->generation;
    const char        *name = generation->lost != NULL ? generation->lost : "a node";
    char              *advice = resume_line_advice(run->options, run->plan->run_id,
                                                   run->dir.path != NULL);

    generation->why = why;
    if (why == POLICY_WHY_NO_START)
        outcome_cause(&run->outcome, generation->no_start_code,
                      "%s could not start its ranks, nor could any node that might take its "
                      "place; %s",
                      name, advice);
    else
        outcome_cause(&run->outcome, EXIT_WAITED,
                      "%s is missing, and no node took its place within %g s (--max-wait); %s",
                      name, run->rules.max_wait_s, advice);
    free(advice);
    phase_leave(run);
}

/* Clears the state of the last generation. */
static void forget(struct run *run)
{
    plan_next_generation(run->plan);
    phase_restart(run);
    run->generation->is_change = false;
    deadline_reset(run->deadline);
    notice_end(run);
    rank_output_again(run, run->plan);
    hang_again(run);
    stacks_again(run);
    data_shards_again(run);
    rank_keys_again(run, run->plan);
    run_status_again(run, run->plan);
    steps_again(run, run->plan);
    checkpoints_again(run, run->plan);
    slow_nodes_again(run, run->plan);
    collective_watch_again(run, run->plan);
    role_restart_again(run);
}
