/* policy.c - see policy.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/policy.h"

#include "elastic/next_world.h"

/* Ranks that fail for the same reason all fail within this time, or within this part of the
 * time that the first one has lived. */
#define OTHERS_LEAST_S 0.5
#define OTHERS_PART    0.25

static struct policy_action over(struct policy *policy, const struct policy_rules *rules,
                                 struct membership *members, const struct policy_event *event);
static bool                 is_port(const struct policy *policy, const struct policy_rules *rules,
                                    const struct policy_event *event);
static enum policy_why      why_not(const struct policy *policy, const struct policy_rules *rules,
                                    const struct policy_event *event);
static bool                 has_stalled(const struct policy *policy,
                                        const struct policy_rules *rules,
                                        const struct policy_event *event);
static void                 count_stall(struct policy *policy, const struct policy_event *event);
static bool                 is_failure(const struct policy_event *event);
static bool                 is_of_nodes(enum policy_end end);
static bool                 has_others(const struct policy_rules *rules);
static struct policy_action time_has_come(struct policy             *policy,
                                          const struct policy_rules *rules,
                                          const struct membership *members, double now_s);
static struct policy_action start(struct policy *policy, const struct policy_rules *rules,
                                  const struct membership *members, size_t places,
                                  double now_s);
static double change_at_s(const struct policy *policy, const struct policy_rules *rules,
                          const struct membership *members);
static bool                 is_young_again(const struct policy *policy,
                                           const struct policy_event *event);
static int                  young_code(const struct policy_event *event);
static double               delay_before(int restart, const struct policy_rules *rules);
static struct policy_action end(struct policy *policy, enum policy_why why);

bool policy_may_restart(const struct policy_rules *rules)
{
    return rules->max_restarts > 0 || rules->may_move_port || rules->members.goes_on;
}

struct policy_action policy_next(struct policy *policy, const struct policy_rules *rules,
                                 struct membership *members, const struct policy_event *event)
{
    if (event->kind == POLICY_EVENT_OVER)
        return policy->phase == POLICY_RUNNING ? over(policy, rules, members, event)
                                               : end(policy, POLICY_WHY_WANTED);
    if (event->kind == POLICY_EVENT_TIME)
        return time_has_come(policy, rules, members, event->now_s);
    if (event->kind == POLICY_EVENT_SCALE || event->kind == POLICY_EVENT_KEPT)
        policy->is_asked = false;
    if (event->kind == POLICY_EVENT_SCALE)
        policy->is_scaled = true;
    if (event->kind == POLICY_EVENT_KEPT)
        policy->changed_s = event->now_s;
    if (event->kind == POLICY_EVENT_NODE_LOST && policy->phase == POLICY_WAITING &&
        !rules->members.goes_on)
        return end(policy, POLICY_WHY_NODE);
    return (struct policy_action){ POLICY_DO_NOTHING, POLICY_WHY_NONE, 0 };
}

static struct policy_action over(struct policy *policy, const struct policy_rules *rules,
                                 struct membership *members, const struct policy_event *event)
{
    struct policy_action action = { POLICY_DO_WAIT, POLICY_WHY_PORT, 0 };

    if (event->lived_s > POLICY_LONG_S)
        policy->restarts = policy->ports = 0;
    if (is_port(policy, rules, event)) {
        policy->ports++;
    } else {
        count_stall(policy, event);
        action.why = why_not(policy, rules, event);
    }
    policy->no_starts = event->end == POLICY_END_NO_START ? policy->no_starts + 1 : 0;
    policy->is_unfit = event->end == POLICY_END_UNFIT;
    policy->young_code = 0;
    if (action.why == POLICY_WHY_RESTART) {
        policy->restarts++;
        policy->young_code = young_code(event);
        action.delay_s = delay_before(policy->restarts, rules);
    } else if (action.why != POLICY_WHY_PORT && action.why != POLICY_WHY_CHANGE) {
        return end(policy, action.why);
    }
    if (action.delay_s < event->dead_in_s)
        action.delay_s = event->dead_in_s;
    policy->start_s = event->now_s + action.delay_s;
    policy->park_s = event->now_s - event->ended_s + rules->max_wait_s;
    policy->phase = POLICY_WAITING;
    if (rules->members.goes_on && next_world_size(members, &rules->members) == 0) {
        policy->phase = POLICY_PARKED;
        action.what = POLICY_DO_PARK;
    }
    return action;
}

/* --- time ------------------------------------------------------------------- */

static struct policy_action time_has_come(struct policy             *policy,
                                          const struct policy_rules *rules,
                                          const struct membership *members, double now_s)
{
    const struct policy_action nothing = { POLICY_DO_NOTHING, POLICY_WHY_NONE, 0 };
    size_t                     places = 0;
    double                     at_s;

    if (rules->members.goes_on)
        places = next_world_size(members, &rules->members);
    switch (policy->phase) {
    case POLICY_RUNNING:
        at_s = change_at_s(policy, rules, members);
        if (at_s < 0 || now_s < at_s)
            return nothing;
        policy->is_asked = true;
        return (struct policy_action){ POLICY_DO_STOP, POLICY_WHY_CHANGE, 0 };
    case POLICY_WAITING:
        if (now_s < policy->start_s)
            return nothing;
        if (places > 0 || !rules->members.goes_on)
            return start(policy, rules, members, places, now_s);
        policy->phase = POLICY_PARKED;
        return (struct policy_action){ POLICY_DO_PARK, POLICY_WHY_CHANGE, 0 };
    case POLICY_PARKED:
        if (places > 0 && now_s >= policy->start_s)
            return start(policy, rules, members, places, now_s);
        if ((policy->no_starts > 0 || policy->is_unfit) && membership_is_hopeless(members))
            return end(policy, POLICY_WHY_NO_START);
        return now_s >= policy->park_s ? end(policy, POLICY_WHY_MAX_WAIT) : nothing;
    case POLICY_OVER:
        break;
    }
    return nothing;
}

static struct policy_action start(struct policy *policy, const struct policy_rules *rules,
                                  const struct membership *members, size_t places, double now_s)
{
    policy->phase = POLICY_RUNNING;
    policy->is_asked = false;
    if (places == rules->members.target)
        policy->is_scaled = false;
    if (members != NULL && places != members->places)
        policy->changed_s = now_s;
    return (struct policy_action){ POLICY_DO_START, POLICY_WHY_NONE, 0 };
}

/* Returns when this generation must end for one of another size; negative: it need not. */
static double change_at_s(const struct policy *policy, const struct policy_rules *rules,
                          const struct membership *members)
{
    const size_t target = rules->members.target;
    size_t       next;

    if (!rules->members.goes_on || !rules->members.is_elastic || policy->is_asked)
        return -1;
    next = next_world_size(members, &rules->members);
    if (target > 0 && next > 0 && members->places > target)
        return 0;
    if (next <= members->places)
        return -1;
    return policy->is_scaled && next >= target ? 0 : policy->changed_s + rules->grow_s;
}

double policy_due_s(const struct policy *policy, const struct policy_rules *rules,
                    const struct membership *members, double now_s)
{
    double due_s =
        rules->members.goes_on ? membership_dial_s(members, &rules->members, now_s) : -1;
    double at_s = -1;

    if (policy->phase == POLICY_OVER)
        return -1;
    if (policy->phase == POLICY_WAITING)
        at_s = policy->start_s;
    else if (policy->phase == POLICY_PARKED)
        at_s = policy->start_s > now_s && policy->start_s < policy->park_s ? policy->start_s
                                                                           : policy->park_s;
    else
        at_s = change_at_s(policy, rules, members);
    if (at_s < 0)
        return due_s;
    at_s = at_s > now_s ? at_s - now_s : 0;
    return due_s < 0 || at_s < due_s ? at_s : due_s;
}

/* --- does another generation follow? ---------------------------------------- */

/* Did the generation end only because MASTER_PORT was taken, before it had any result? */
static bool is_port(const struct policy *policy, const struct policy_rules *rules,
                    const struct policy_event *event)
{
    return event->end == POLICY_END_RANK && event->port_taken && rules->may_move_port &&
           event->is_world_whole && !event->any_ended_well &&
           event->rank_lived_s < POLICY_PORT_S && policy->ports < POLICY_PORTS_MAX;
}

/* A generation that ended since the world changes is no sign of a fault; nor is one whose ranks
 * never started. Without the node that was the cause, the next ones may do better. */
static void count_stall(struct policy *policy, const struct policy_event *event)
{
    if (event->has_progressed || event->is_cured)
        policy->stalls = 0;
    else if (event->is_progress_known && is_failure(event))
        policy->stalls++;
}

static bool is_failure(const struct policy_event *event)
{
    return event->lived_s > 0 && (event->end == POLICY_END_RANK || event->end == POLICY_END_HANG ||
                                  event->end == POLICY_END_NODE);
}

/* WHY_RESTART: nothing prevents another generation. */
static enum policy_why why_not(const struct policy *policy, const struct policy_rules *rules,
                               const struct policy_event *event)
{
    if (event->end == POLICY_END_WELL)
        return POLICY_WHY_NONE;
    if (event->end == POLICY_END_WANTED)
        return POLICY_WHY_WANTED;
    if (event->is_left)
        return POLICY_WHY_LEFT;
    if (event->end == POLICY_END_NO_START && !event->is_first_start && policy->no_starts > 0)
        return POLICY_WHY_NO_START;
    if (rules->members.goes_on && is_of_nodes(event->end) &&
        (!event->is_first_start || (event->end == POLICY_END_UNFIT && has_others(rules))))
        return has_stalled(policy, rules, event) ? POLICY_WHY_NO_PROGRESS : POLICY_WHY_CHANGE;
    if (rules->max_restarts == 0)
        return POLICY_WHY_OFF;
    if (is_of_nodes(event->end) ||
        (!event->is_world_whole && (!rules->members.goes_on || event->is_first_start)))
        return POLICY_WHY_NODE;
    if (event->end == POLICY_END_RANK && event->not_started)
        return POLICY_WHY_NOT_STARTED;
    if (event->end == POLICY_END_RANK &&
        !restart_on_has(&rules->on, event->code, event->out_of_memory))
        return POLICY_WHY_CLASS;
    if (event->are_alike && is_young_again(policy, event))
        return POLICY_WHY_YOUNG;
    if (has_stalled(policy, rules, event))
        return POLICY_WHY_NO_PROGRESS;
    return policy->restarts >= rules->max_restarts ? POLICY_WHY_USED_UP : POLICY_WHY_RESTART;
}

/* Was this the last generation that may fail without progress? */
static bool has_stalled(const struct policy *policy, const struct policy_rules *rules,
                        const struct policy_event *event)
{
    return rules->max_no_progress > 0 && policy->stalls >= rules->max_no_progress &&
           is_failure(event);
}

static bool is_of_nodes(enum policy_end end)
{
    return end == POLICY_END_NODE || end == POLICY_END_NO_START || end == POLICY_END_UNFIT ||
           end == POLICY_END_CHANGE;
}

/* May another node take the place of one at the first start? */
static bool has_others(const struct policy_rules *rules)
{
    return rules->members.spares > 0 || rules->members.is_elastic;
}

/* Imports take some ranks longer than others; the longer the imports, the larger the
 * difference. */
double policy_others_s(const struct policy *policy, const struct policy_rules *rules,
                       const struct policy_event *event)
{
    double part_s = event->rank_lived_s * OTHERS_PART;

    if (rules->max_restarts == 0 || !is_young_again(policy, event))
        return 0;
    return part_s > OTHERS_LEAST_S ? part_s : OTHERS_LEAST_S;
}

/* Only the first failure of the last generation is known: the other ranks were stopped. */
static bool is_young_again(const struct policy *policy, const struct policy_event *event)
{
    return young_code(event) != 0 && young_code(event) == policy->young_code;
}

/* Returns the code of a rank that failed on its own soon after its start; else 0. */
static int young_code(const struct policy_event *event)
{
    if (event->end != POLICY_END_RANK || event->rank_lived_s > POLICY_YOUNG_S ||
        exit_class_of(event->code, event->out_of_memory)->is_from_outside)
        return 0;
    return event->code;
}

/* 0, 1, 2, 4 ... */
static double delay_before(int restart, const struct policy_rules *rules)
{
    double delay_s = 1;
    int    i;

    if (rules->delay_s >= 0)
        return rules->delay_s;
    if (restart <= 1)
        return 0;
    for (i = 2; i < restart && delay_s < POLICY_DELAY_MAX_S; i++)
        delay_s *= 2;
    return delay_s < POLICY_DELAY_MAX_S ? delay_s : POLICY_DELAY_MAX_S;
}

static struct policy_action end(struct policy *policy, enum policy_why why)
{
    policy->phase = POLICY_OVER;
    return (struct policy_action){ POLICY_DO_END, why, 0 };
}
