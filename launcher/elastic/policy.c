/* policy.c - see policy.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/policy.h"

static struct policy_action over(struct policy *policy, const struct policy_rules *rules,
                                 const struct policy_event *event);
static bool                 is_port(const struct policy *policy, const struct policy_rules *rules,
                                    const struct policy_event *event);
static enum policy_why      why_not(const struct policy *policy, const struct policy_rules *rules,
                                    const struct policy_event *event);
static int                  young_code(const struct policy_event *event);
static double               delay_before(int restart, const struct policy_rules *rules);
static struct policy_action end(struct policy *policy, enum policy_why why);

bool policy_may_restart(const struct policy_rules *rules)
{
    return rules->max_restarts > 0 || rules->may_move_port;
}

struct policy_action policy_next(struct policy *policy, const struct policy_rules *rules,
                                 const struct policy_event *event)
{
    if (policy->phase == POLICY_RUNNING && event->kind == POLICY_EVENT_OVER)
        return over(policy, rules, event);
    if (policy->phase == POLICY_WAITING && event->kind == POLICY_EVENT_TIME) {
        policy->phase = POLICY_RUNNING;
        return (struct policy_action){ POLICY_DO_START, POLICY_WHY_NONE, 0 };
    }
    if (policy->phase == POLICY_WAITING && event->kind == POLICY_EVENT_NODE_LOST)
        return end(policy, POLICY_WHY_NODE);
    if (event->kind == POLICY_EVENT_OVER)
        return end(policy, POLICY_WHY_WANTED);
    return (struct policy_action){ POLICY_DO_NOTHING, POLICY_WHY_NONE, 0 };
}

static struct policy_action over(struct policy *policy, const struct policy_rules *rules,
                                 const struct policy_event *event)
{
    enum policy_why why;

    if (event->lived_s > POLICY_LONG_S)
        policy->restarts = 0;
    if (is_port(policy, rules, event)) {
        policy->ports++;
        policy->phase = POLICY_WAITING;
        return (struct policy_action){ POLICY_DO_WAIT, POLICY_WHY_PORT, 0 };
    }
    why = why_not(policy, rules, event);
    if (why != POLICY_WHY_RESTART)
        return end(policy, why);
    policy->restarts++;
    policy->young_code = young_code(event);
    policy->phase = POLICY_WAITING;
    return (struct policy_action){ POLICY_DO_WAIT, POLICY_WHY_RESTART,
                                   delay_before(policy->restarts, rules) };
}

/* Only a run that ended for this reason alone, and before it came to any result. */
static bool is_port(const struct policy *policy, const struct policy_rules *rules,
                    const struct policy_event *event)
{
    return event->end == POLICY_END_RANK && event->port_taken && rules->may_move_port &&
           event->is_world_whole && !event->any_ended_well &&
           event->rank_lived_s < POLICY_PORT_S && policy->ports < POLICY_PORTS_MAX;
}

/* WHY_RESTART: nothing speaks against it. */
static enum policy_why why_not(const struct policy *policy, const struct policy_rules *rules,
                               const struct policy_event *event)
{
    if (event->end == POLICY_END_WELL)
        return POLICY_WHY_NONE;
    if (event->end == POLICY_END_WANTED)
        return POLICY_WHY_WANTED;
    if (rules->max_restarts == 0)
        return POLICY_WHY_OFF;
    if (event->end == POLICY_END_NODE || !event->is_world_whole)
        return POLICY_WHY_NODE;
    if (event->end == POLICY_END_RANK && event->not_started)
        return POLICY_WHY_NOT_STARTED;
    if (event->end == POLICY_END_RANK &&
        !restart_on_has(&rules->on, event->code, event->out_of_memory))
        return POLICY_WHY_CLASS;
    if (young_code(event) != 0 && young_code(event) == policy->young_code)
        return POLICY_WHY_YOUNG;
    if (policy->restarts >= rules->max_restarts)
        return POLICY_WHY_USED_UP;
    return POLICY_WHY_RESTART;
}

/* The code of a rank that failed soon after its start by its own doing; else 0. */
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
