/* generation.c - see generation.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/generation.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "elastic/policy.h"
#include "hostrange.h"
#include "log.h"
#include "run/data_shards.h"
#include "run/deadline.h"
#include "run/generation_words.h"
#include "run/hang.h"
#include "run/interrupt.h"
#include "run/leaving.h"
#include "rendezvous/kvs.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/rank_output.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/run_status.h"
#include "run/world.h"
#include "xalloc.h"
#include "xevent.h"

struct generation {
    struct policy_rules rules;
    struct policy       policy;
    struct event       *over; /* fires in the next turn of the loop */
    struct event       *tick; /* when the policy must decide again */
    bool                is_parked; /* the user knows that the run waits for a node */
    bool                is_change; /* this generation ends because the world must change */
    double              within_s;  /* of muster scale, until its size is reached; < 0: none */
    char               *told;      /* how the last one ended, not yet reported; or NULL */
    char               *lost;      /* the nodes that the last one lost: "te3", or NULL */
    struct policy_event last; /* how the last generation ended */
    enum policy_why     why;  /* why no other one follows; WHY_NONE: not decided */
};

static void over_cb(evutil_socket_t fd, short what, void *arg);
static void tick_cb(evutil_socket_t fd, short what, void *arg);
static void look_in(struct run *run, double delay_s);
static void look_later(struct run *run);
static void carry_out(struct run *run, const struct policy_action *action);
static void ask_to_end(struct run *run);
static void tell_policy(struct run *run, enum policy_event_kind kind);
static void note_lost(struct run *run, const struct policy_event *event);
static struct policy_event describe(const struct run *run);
static double dead_in_s(const struct run *run);
static enum policy_end end_of(const struct run *run);
static enum policy_end end_by_rank(const struct run *run);
static bool is_wanted(const struct run *run);
static void describe_rank(const struct run *run, struct policy_event *event);
static void begin_again(struct run *run, const struct policy_action *action);
static void tell_park(struct run *run, const char *why);
static bool is_same_world(const struct run *run);
static void start(struct run *run);
static void wait_is_over(struct run *run);
static void forget(struct run *run);
static double seconds(int64_t from_ns, int64_t to_ns);

struct generation *generation_new(struct run *run)
{
    const struct options *options = run->options;
    struct generation    *made = xcalloc(1, sizeof *made);
    struct error          err;

    made->rules = (struct policy_rules){ .max_restarts = options->max_restarts,
                                         .delay_s = options->restart_delay_s,
                                         .may_move_port = options->master_port == 0,
                                         .max_wait_s = options_max_wait_s(options),
                                         .grow_s = options->members.grow_s };
    if (restart_on_parse(options->restart_on, &made->rules.on, &err) < 0)
        log_warn("--restart-on: %s", err.text); /* not reached: options.c has checked it */
    world_open(run, &made->rules.members);
    if (run->plan->source == NULL || run_is_exec(run))
        made->rules.members.goes_on = false;
    run->pool = pool_new(run, &made->rules.members);
    made->policy.changed_s = generation_now_s();
    made->within_s = -1;
    made->over = evtimer_new(run->base, over_cb, run);
    made->tick = evtimer_new(run->base, tick_cb, run);
    if (made->over == NULL || made->tick == NULL)
        xalloc_die();
    return made;
}

void generation_free(struct generation *generation)
{
    if (generation == NULL)
        return;
    free(generation->lost);
    free(generation->told);
    event_free(generation->over);
    event_free(generation->tick);
    free(generation);
}

double generation_now_s(void)
{
    return (double)clock_now_ns() / NS_PER_S;
}

const struct member_rules *generation_members(const struct run *run)
{
    return &run->generation->rules.members;
}

bool generation_may_follow(const struct run *run)
{
    return !run_is_exec(run) && !run->options->no_ssh &&
           policy_may_restart(&run->generation->rules);
}

bool generation_goes_on(const struct run *run)
{
    return run->generation->rules.members.goes_on &&
           run->generation->policy.phase != POLICY_OVER;
}

bool generation_is_last(const struct run *run)
{
    return run->reader.is_begun ||
           (run->phase.now == PHASE_STOPPING && (is_wanted(run) || !generation_goes_on(run)));
}

void generation_look(struct run *run)
{
    const struct timeval now = { 0 };

    if (phase_is_over(run))
        xevent_add(run->generation->over, &now);
}

static void over_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run          *run = arg;
    struct generation   *generation = run->generation;
    struct policy_event  event;
    struct policy_action action;

    (void)fd, (void)what;
    if (!phase_is_over(run))
        return;
    event = describe(run);
    notice_over(run);
    note_lost(run, &event);
    action = policy_next(&generation->policy, &generation->rules, pool_members(run), &event);
    if (action.what == POLICY_DO_WAIT || action.what == POLICY_DO_PARK) {
        begin_again(run, &action);
        return;
    }
    generation->last = event;
    generation->why = action.why;
    phase_leave(run);
}

void generation_lost_node(struct run *run, const struct node *node)
{
    struct generation        *generation = run->generation;
    const struct policy_event event = { .kind = POLICY_EVENT_NODE_LOST,
                                        .now_s = generation_now_s() };

    if (generation_goes_on(run)) {
        log_warn("%s: lost: %s", node->plan->host, node->failure->text);
        members_failed(pool_members(run), pool_members(run)->place[node->index],
                       generation_now_s(), false);
        generation_changed(run);
        return;
    }
    policy_next(&generation->policy, &generation->rules, pool_members(run), &event);
    event_del(generation->tick);
    log_note("no restart: not every node is there (%s)", generation_missing(run));
    phase_stop(run);
}

/* --- time ------------------------------------------------------------------- */

void generation_changed(struct run *run)
{
    if (generation_goes_on(run))
        look_in(run, 0);
}

static void look_in(struct run *run, double delay_s)
{
    const struct timeval delay = clock_interval(delay_s);

    xevent_add(run->generation->tick, &delay);
}

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run         *run = arg;
    struct generation  *generation = run->generation;
    struct policy_event event = { .kind = POLICY_EVENT_TIME, .now_s = generation_now_s() };
    struct policy_action action;
    size_t               which;

    (void)fd, (void)what;
    if (generation->policy.phase == POLICY_OVER || run->phase.now == PHASE_STOPPING)
        return; /* over_cb() decides when that is over */
    while ((which = members_dial(pool_members(run), &generation->rules.members, event.now_s)) !=
           MEMBERS_NONE)
        pool_connect(run, which);
    while ((which = members_surplus(pool_members(run), &generation->rules.members)) !=
           MEMBERS_NONE)
        pool_leave(run, which);
    if (run->phase.now == PHASE_RUNNING || run->phase.now == PHASE_RESTARTING) {
        action = policy_next(&generation->policy, &generation->rules, pool_members(run), &event);
        carry_out(run, &action);
    }
    look_later(run);
}

static void look_later(struct run *run)
{
    struct generation *generation = run->generation;
    double             due_s = policy_due_s(&generation->policy, &generation->rules,
                                            pool_members(run), generation_now_s());

    if (due_s >= 0 && generation->policy.phase != POLICY_OVER &&
        (run->phase.now == PHASE_RUNNING || run->phase.now == PHASE_RESTARTING))
        look_in(run, due_s);
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
        wait_is_over(run);
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
    const size_t             target = generation->rules.members.target;
    char                    *hosts = generation_too_many(run, &generation->rules.members);
    char                     reason[80];
    double                   within_s = generation->within_s;

    if (within_s < 0)
        within_s = leaving_save_s(run);
    if (generation->policy.is_scaled)
        snprintf(reason, sizeof reason, "muster scale: %zu node%s", target,
                 target == 1 ? "" : "s");
    else
        snprintf(reason, sizeof reason, "more nodes are available: the world grows");
    log_note("%s; the next generation starts after a checkpoint, in %g s at most", reason,
             within_s);
    notice_change(run, within_s, hosts, reason);
    free(hosts);
}

void generation_change(struct run *run, const char *text)
{
    if (!members_next_is_same(pool_members(run), generation_members(run))) {
        generation_end_for_change(run, text);
        return;
    }
    log_note("%s: not now, since the next generation would have the same nodes", text);
    notice_take_back(run);
    tell_policy(run, POLICY_EVENT_KEPT);
    generation_changed(run);
}

int generation_scale(struct run *run, size_t nodes, double within_s, struct error *err)
{
    struct generation *generation = run->generation;

    if (!generation->rules.members.goes_on || !generation->rules.members.is_elastic)
        return err_set(err, "its number of nodes is fixed; only a run that was started with "
                            "--nnodes MIN:MAX or --recovery elastic can be scaled");
    if (members_may_be(pool_members(run), &generation->rules.members, nodes, err) < 0)
        return -1;
    generation->rules.members.target = nodes;
    generation->within_s = within_s;
    tell_policy(run, POLICY_EVENT_SCALE);
    run_status_beat(run); /* muster resume must know it, too */
    generation_changed(run);
    return 0;
}

static void tell_policy(struct run *run, enum policy_event_kind kind)
{
    struct generation        *generation = run->generation;
    const struct policy_event event = { .kind = kind, .now_s = generation_now_s() };

    policy_next(&generation->policy, &generation->rules, pool_members(run), &event);
}

/* Does nothing once the run is over and only its agents leave. An earlier cause stays. */
void generation_end_for_change(struct run *run, const char *text)
{
    if (run->generation->policy.phase == POLICY_OVER)
        return;
    run->generation->is_change = run->outcome.cause == 0;
    outcome_cause(&run->outcome, EXIT_LOST, "%s", text);
    phase_stop(run);
}

/* Notes the nodes that ended the generation, and those that are missing for the next one. If
 * it lived long, earlier failures do not count. */
static void note_lost(struct run *run, const struct policy_event *event)
{
    struct members *members = pool_members(run);
    struct strlist  names = { 0 };
    size_t          i;

    free(run->generation->lost);
    run->generation->lost = NULL;
    if (event->end == POLICY_END_RANK)
        members_blame(members, run->outcome.first_rank);
    if (!generation_goes_on(run))
        return;
    if (event->lived_s > POLICY_LONG_S)
        members_proved(members);
    for (i = 0; i < run->plan->nodes; i++) {
        if (run->node[i]->state == NODE_STAYING)
            continue;
        members_failed(members, members->place[i], generation_now_s(),
                       run->outcome.node[i] != NULL);
        strlist_add(&names, plan_label(&run->plan->node[i]));
    }
    if (names.count > 0)
        run->generation->lost = hostrange_fold(&names);
    strlist_clear(&names);
}

/* --- how it ended ----------------------------------------------------------- */

static struct policy_event describe(const struct run *run)
{
    const struct phase *phase = &run->phase;
    int64_t             now_ns = clock_now_ns();
    int64_t             end_ns = phase->stop_ns != 0 ? phase->stop_ns : now_ns;
    struct policy_event event = {
        .kind = POLICY_EVENT_OVER,
        .now_s = generation_now_s(),
        .end = end_of(run),
        .is_world_whole = generation_missing(run) == NULL,
        .is_first_start = plan_is_first(run->plan) && !run->outcome.has_begun,
        .is_left = outcome_is_left(&run->outcome),
        .dead_in_s = dead_in_s(run),
        .ended_s = seconds(end_ns, now_ns),
    };

    if (phase->go_ns != 0)
        event.lived_s = seconds(phase->go_ns, end_ns);
    if (event.end == POLICY_END_RANK)
        describe_rank(run, &event);
    return event;
}

double generation_others_s(const struct run *run)
{
    const struct policy_event event = describe(run);

    return policy_others_s(&run->generation->policy, &run->generation->rules, &event);
}

/* Returns the seconds until the last rank on a lost node is dead: an agent that could not be
 * checked ends its ranks when its lease expires, at the latest. */
static double dead_in_s(const struct run *run)
{
    double left_s, most_s = 0;
    size_t i;

    for (i = 0; i < run->plan->nodes && run->outcome.has_begun; i++) {
        const struct node_cleaned *cleaned = &run->outcome.cleaned[i];

        if (run->outcome.node[i] == NULL || run->node[i]->state == NODE_ENDED ||
            (cleaned->text != NULL && cleaned->left == 0))
            continue; /* ENDED: its agent has reported that nothing is left */
        left_s = run->options->dead_after_s -
                 seconds(run->node[i]->liveness.heard_ns, clock_now_ns());
        if (left_s > most_s)
            most_s = left_s;
    }
    return most_s;
}

static enum policy_end end_of(const struct run *run)
{
    size_t node;

    if (is_wanted(run))
        return POLICY_END_WANTED;
    switch (outcome_first(&run->outcome, &node)) {
    case FIRST_RANK:
        return end_by_rank(run);
    case FIRST_NODE:
        return POLICY_END_NODE;
    case FIRST_CAUSE:
        return run->outcome.aborted_by >= 0 ? end_by_rank(run)
               : run->generation->is_change && run->generation->rules.members.goes_on
                   ? POLICY_END_CHANGE
               : hang_is_over(run)          ? POLICY_END_HANG
                                            : POLICY_END_WANTED;
    case FIRST_NONE:
        break;
    }
    return POLICY_END_WELL;
}

/* Ranks may exit after a notice: the generation was ending anyway. */
static enum policy_end end_by_rank(const struct run *run)
{
    return run->generation->rules.members.goes_on && notice_was_told(run->notice)
               ? POLICY_END_CHANGE : POLICY_END_RANK;
}

/* Must the run end, whatever failed first? */
static bool is_wanted(const struct run *run)
{
    return interrupt_has_come(run) || deadline_has_passed(run->deadline) ||
           (run->outcome.is_reader_gone && run->options->log_dir == NULL);
}

static void describe_rank(const struct run *run, struct policy_event *event)
{
    const struct outcome  *outcome = &run->outcome;
    bool                   is_abort = outcome->aborted_by >= 0 && outcome->first_rank < 0;
    const struct rank_end *end =
        &outcome->rank[is_abort ? outcome->aborted_by : outcome->first_rank];

    event->code = is_abort ? outcome->cause : rank_end_code(end);
    event->out_of_memory = !is_abort && end->oom != NULL;
    event->not_started = !is_abort && end->error != NULL;
    if (end->started)
        event->rank_lived_s = seconds(end->start_ns, is_abort ? outcome->cause_ns : end->end_ns);
    event->port_taken = rendezvous_port_holder(run->rendezvous) != NULL;
    event->any_ended_well = outcome_any_ended_well(outcome);
    event->are_alike = is_abort || outcome_alike(outcome, POLICY_YOUNG_S) == outcome->ours;
}

/* --- the end ---------------------------------------------------------------- */

/* If agents could not stay, the policy has not decided yet. */
void generation_end(struct run *run)
{
    struct generation *generation = run->generation;

    if (run_is_exec(run))
        return;
    if (generation->policy.phase != POLICY_OVER) {
        generation->last = describe(run);
        generation->why = policy_next(&generation->policy, &generation->rules, pool_members(run),
                                      &generation->last).why;
    }
    generation_tell_port(run, &generation->last);
    if ((run->options->max_restarts > 0 || generation->rules.members.goes_on) &&
        run->outcome.has_begun)
        generation_tell_end(run, &generation->last, generation->why, generation_missing(run));
    generation_tell_suspects(run);
}

/* --- the next generation ---------------------------------------------------- */

/* Reports the next world now if it stays the same; else start() does, once it is known. */
static void begin_again(struct run *run, const struct policy_action *action)
{
    char why[GENERATION_WORDS_SIZE];

    generation_why_words(run, run->generation->lost, why);
    generation_tell_hang(run);
    outcome_restart(&run->outcome, why);
    forget(run);
    free(run->generation->told);
    run->generation->told = NULL;
    if (action->what == POLICY_DO_PARK)
        tell_park(run, why);
    else if (is_same_world(run))
        generation_tell_same(run, why, action->delay_s,
                             action->why == POLICY_WHY_RESTART ? run->generation->policy.restarts
                                                               : 0);
    else
        run->generation->told = xstrdup(why);
    if (run->generation->told != NULL && action->delay_s >= 1)
        log_note("%s; the next generation starts when its lease expires, in %.0f s", why,
                 action->delay_s);
    tick_cb(-1, EV_TIMEOUT, run);
}

static void tell_park(struct run *run, const char *why)
{
    run->generation->is_parked = true;
    generation_tell_park(run, why, &run->generation->rules);
}

/* Does the next generation have the same nodes, and do all of them wait for it? */
static bool is_same_world(const struct run *run)
{
    return !generation_goes_on(run) ||
           (members_next_is_same(pool_members(run), generation_members(run)) &&
            generation_missing(run) == NULL);
}

static void start(struct run *run)
{
    struct generation *generation = run->generation;
    bool               is_same = is_same_world(run);
    size_t            *world, places;
    struct error       err;
    char              *changes;

    if (is_same) {
        if (generation->is_parked)
            generation_tell_same(run, "its nodes are back", 0, 0);
        rendezvous_again(run);
    } else {
        world = members_next(pool_members(run), &generation->rules.members, &places);
        changes = generation_changes(run, generation->lost, world, places);
        if (world_change(run, &generation->rules.members, world, places, &err) < 0) {
            outcome_cause(&run->outcome, EXIT_DATA, "%s", err.text);
            phase_stop(run);
        } else {
            generation_tell_world(
                run, generation->told != NULL ? generation->told : "more nodes are available",
                changes, generation->policy.restarts);
            rendezvous_anew(run);
        }
        free(changes);
        free(world);
    }
    generation->is_parked = false;
    if (!generation->policy.is_scaled)
        generation->within_s = -1;
    if (run->phase.now == PHASE_RESTARTING && generation_missing(run) == NULL)
        phase_prepare(run);
    else
        phase_stop(run); /* node 0 cannot be reached: the next generation does without it */
}

/* --max-wait has passed. */
static void wait_is_over(struct run *run)
{
    struct generation *generation = run->generation;

    generation->why = POLICY_WHY_MAX_WAIT;
    outcome_cause(&run->outcome, EXIT_WAITED,
                  "%s is missing, and no node took its place within %g s (--max-wait); muster "
                  "resume %s starts the run again",
                  generation->lost != NULL ? generation->lost : "a node",
                  generation->rules.max_wait_s, run->plan->run_id);
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
    rank_output_again(run);
    hang_again(run);
    data_shards_again(run);
    kvs_again(run->kvs, run->plan->nodes);
    run_status_again(run);
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / NS_PER_S;
}
