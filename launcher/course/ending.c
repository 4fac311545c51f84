/* ending.c - see ending.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/ending.h"

#include "clock.h"
#include "course/checkpoints.h"
#include "course/generation_words.h"
#include "lease.h"
#include "run/deadline.h"
#include "run/hang.h"
#include "run/interrupt.h"
#include "run/notice.h"
#include "run/rendezvous.h"
#include "run/run.h"

static double          dead_in_s(const struct run *run);
static enum policy_end end_of(const struct run *run, bool is_change);
static enum policy_end end_by_node(const struct conn_failure *failure);
static enum policy_end end_by_rank(const struct run *run);
static void describe_rank(const struct run *run, const struct plan *world,
                          const struct failed_rank *failed, struct policy_event *event);
static double          seconds(int64_t from_ns, int64_t to_ns);

struct policy_event ending_describe(const struct run *run, bool is_change)
{
    const struct phase   *phase = &run->phase;
    const struct outcome *outcome = &run->outcome;
    int64_t               now_ns = clock_now_ns();
    int64_t               end_ns = phase->stop_ns != 0 ? phase->stop_ns : now_ns;
    struct failed_rank    failed;
    struct policy_event   event = {
        .kind = POLICY_EVENT_OVER,
        .now_s = clock_now_s(),
        .end = end_of(run, is_change),
        .is_world_whole = generation_missing(run) == NULL,
        .is_first_start = plan_is_first(run->plan) && !outcome->has_begun,
        .is_left = outcome_is_left(outcome),
        .dead_in_s = dead_in_s(run),
        .ended_s = seconds(end_ns, now_ns),
    };

    if (phase->go_ns != 0)
        event.lived_s = seconds(phase->go_ns, end_ns);
    checkpoints_progress(run, run->plan, &event);
    if (event.end == POLICY_END_RANK) {
        failed = ending_failed_rank(run, run->plan);
        if (failed.rank < 0)
            failed = (struct failed_rank){ outcome->aborted_by, true, outcome->cause,
                                           outcome->cause_ns };
        describe_rank(run, run->plan, &failed, &event);
    }
    return event;
}

struct policy_event ending_of_role(const struct run *run, const struct plan *role,
                                   const struct failed_rank *failed, int64_t go_ns)
{
    struct policy_event event = {
        .kind = POLICY_EVENT_OVER,
        .now_s = clock_now_s(),
        .end = POLICY_END_RANK,
        .is_world_whole = true,
        .is_left = outcome_is_left(&run->outcome),
        .lived_s = seconds(go_ns, failed->at_ns),
        .ended_s = seconds(failed->at_ns, clock_now_ns()),
    };

    describe_rank(run, role, failed, &event);
    checkpoints_progress(run, role, &event);
    return event;
}

double ending_others_s(const struct run *run, const struct plan *world,
                       const struct policy *policy, bool is_change)
{
    int                 alike = outcome_alike(&run->outcome, world, POLICY_YOUNG_S);
    struct failed_rank  failed = ending_failed_rank(run, world);
    struct policy_event event;

    if (alike < 0 || alike >= outcome_ranks(&run->outcome, world))
        return 0;
    event = world == run->plan ? ending_describe(run, is_change)
                               : ending_of_role(run, world, &failed, run->phase.go_ns);
    return policy_others_s(policy, &run->rules, &event);
}

/* Returns the seconds until the last rank on a lost node is dead, if its agent could not be
 * checked. */
static double dead_in_s(const struct run *run)
{
    double left_s, most_s = 0;
    size_t i;

    for (i = 0; i < run->plan->nodes && run->outcome.has_begun; i++) {
        const struct node_cleaned *cleaned = &run->outcome.cleaned[i];

        if (run->outcome.node[i] == NULL || run->node[i]->state == NODE_ENDED ||
            (cleaned->text != NULL && cleaned->left == 0))
            continue; /* ENDED: its agent has reported that nothing is left */
        left_s = lease_dead_s(run->options->dead_after_s, run->options->heartbeat_s) -
                 seconds(run->node[i]->liveness.heard_ns, clock_now_ns());
        if (left_s > most_s)
            most_s = left_s;
    }
    return most_s;
}

static enum policy_end end_of(const struct run *run, bool is_change)
{
    size_t node;

    if (ending_is_wanted(run))
        return POLICY_END_WANTED;
    switch (outcome_first(&run->outcome, &node)) {
    case FIRST_RANK:
        return end_by_rank(run);
    case FIRST_NODE:
        return end_by_node(run->outcome.node[node]);
    case FIRST_CAUSE:
        return run->outcome.aborted_by >= 0              ? end_by_rank(run)
               : is_change && run->rules.members.goes_on ? POLICY_END_CHANGE
               : hang_is_over(run)                       ? POLICY_END_HANG
                                                         : POLICY_END_WANTED;
    case FIRST_NONE:
        break;
    }
    return POLICY_END_WELL;
}

static enum policy_end end_by_node(const struct conn_failure *failure)
{
    if (conn_failure_is_health(failure))
        return POLICY_END_UNFIT;
    return conn_failure_is_no_start(failure) ? POLICY_END_NO_START : POLICY_END_NODE;
}

/* Ranks may exit after a notice: the generation was ending anyway. */
static enum policy_end end_by_rank(const struct run *run)
{
    return run->rules.members.goes_on && notice_was_given(run->notice) ? POLICY_END_CHANGE
                                                                       : POLICY_END_RANK;
}

/* Must the run end, whatever failed first? */
bool ending_is_wanted(const struct run *run)
{
    return run->phase.is_last || interrupt_has_come(run) || deadline_has_passed(run->deadline) ||
           (run->outcome.is_reader_gone && run->options->log_dir == NULL);
}

struct failed_rank ending_failed_rank(const struct run *run, const struct plan *world)
{
    const struct outcome *outcome = &run->outcome;
    struct failed_rank    failed = { .rank = outcome_first_rank(outcome, world) };

    if (failed.rank < 0)
        return failed;
    failed.code = rank_end_code(&outcome->rank[failed.rank]);
    failed.at_ns = outcome->rank[failed.rank].end_ns;
    return failed;
}

static void describe_rank(const struct run *run, const struct plan *world,
                          const struct failed_rank *failed, struct policy_event *event)
{
    const struct outcome  *outcome = &run->outcome;
    const struct rank_end *end = &outcome->rank[failed->rank];
    size_t                 where;

    event->code = failed->code;
    event->out_of_memory = !failed->is_abort && end->oom != NULL;
    event->not_started = !failed->is_abort && end->error != NULL;
    if (end->started)
        event->rank_lived_s = seconds(end->start_ns, failed->at_ns);
    event->port_taken = rendezvous_port_holder(run->rendezvous, &where) != NULL &&
                        (world == run->plan || plan_world(run->plan, where) == world);
    event->any_ended_well = outcome_any_ended_well(outcome, world);
    event->are_alike = failed->is_abort || outcome_alike(outcome, world, POLICY_YOUNG_S) ==
                                               outcome_ranks(outcome, world);
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / NS_PER_S;
}
