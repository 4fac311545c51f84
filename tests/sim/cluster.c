/* cluster.c - see cluster.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "sim/cluster.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/next_world.h"
#include "sim/judge.h"
#include "xalloc.h"

/* A node must leave this long before it is lost, whether or not the ranks have saved. */
#define MARGIN_S 20.0
/* Limits for a training that never ends: time after the trace, and turns. */
#define BEYOND_S (60.0 * 86400)
#define TURNS_MAX 20000000

static void   begin(struct cluster *cluster);
static double next_s(const struct cluster *cluster);
static void   pass(struct cluster *cluster, double until_s);
static void   turn(struct cluster *cluster);
static void   take_event(struct cluster *cluster, const struct trace_event *event);
static void   lose(struct cluster *cluster, int which);
static void                  depart(struct cluster *cluster);
static enum membership_stage stage_of(const struct cluster *cluster);
static void                  save_soon(struct cluster *cluster);
static void                  look_at_hosts(struct cluster *cluster);
static void                  missed(struct cluster *cluster, size_t which);
static void                  fail(struct cluster *cluster, size_t which, bool ended);
static void                  dial(struct cluster *cluster);
static void                  look_at_ranks(struct cluster *cluster);
static void                  train(struct cluster *cluster);
static void                  save(struct cluster *cluster);
static void                  stop(struct cluster *cluster, enum policy_end end);
static void                  over(struct cluster *cluster);
static void                  ask_policy(struct cluster *cluster);
static void                  carry_out(struct cluster *cluster, struct policy_action action);
static void                  start(struct cluster *cluster);
static bool                  is_whole(const struct cluster *cluster);

void cluster_run(const struct trace *trace, const struct job *job,
                 const struct policy_rules *rules, struct result *result)
{
    struct cluster cluster = { .trace = trace, .job = job, .rules = rules, .result = result };
    int            turns = 0;

    *result = (struct result){ .status = -1 };
    begin(&cluster);
    while (cluster.state != ENDED && result->wrong[0] == '\0') {
        const double at_s = next_s(&cluster);

        if (job->work <= 0 && at_s >= trace->until_s) {
            pass(&cluster, trace->until_s);
            break;
        }
        if (at_s == NEVER || at_s > trace->until_s + BEYOND_S || ++turns == TURNS_MAX) {
            judge_wrong(&cluster, "it never ends");
            break;
        }
        pass(&cluster, at_s);
        turn(&cluster);
    }
    result->wall = cluster.now_s / HOUR_S;
    result->useful = cluster.done;
    membership_clear(&cluster.members);
    free(cluster.host);
}

/* All hosts are on the list; the first of them make up the world. */
static void begin(struct cluster *cluster)
{
    const struct trace *trace = cluster->trace;
    const size_t        nodes = (size_t)cluster->job->nodes;
    size_t             *world = xcalloc((size_t)trace->hosts, sizeof *world), i;

    cluster->host = xcalloc((size_t)trace->hosts, sizeof *cluster->host);
    for (i = 0; i < (size_t)trace->hosts; i++) {
        membership_add(&cluster->members, "", cluster->job->slots);
        cluster->host[i] = (struct cluster_host){ .is_there = true,
                                                  .failed_s = -NEVER,
                                                  .joined_s = NEVER,
                                                  .missed_s = NEVER,
                                                  .drain_s = NEVER,
                                                  .cloud_s = NEVER };
    }
    for (i = 0; i < nodes; i++) {
        world[i] = i;
        membership_joined(&cluster->members, i);
    }
    membership_take(&cluster->members, &cluster->rules->members, world, nodes);
    free(world);
    start(cluster);
}

/* Returns when the next event happens. */
static double next_s(const struct cluster *cluster)
{
    double at_s = cluster->until_s, due_s;
    size_t i;

    if (cluster->next < cluster->trace->count)
        at_s = fmin(at_s, cluster->trace->event[cluster->next].at_s);
    for (i = 0; i < cluster->members.count; i++)
        at_s = fmin(at_s, fmin(cluster->host[i].joined_s, cluster->host[i].missed_s));
    due_s = membership_due_s(&cluster->members, cluster->now_s);
    if (due_s >= 0)
        at_s = fmin(at_s, cluster->now_s + due_s);
    due_s = policy_due_s(&cluster->policy, cluster->rules, &cluster->members, cluster->now_s);
    if (due_s >= 0 && cluster->state != STOPPING && !cluster->is_asked_to_end)
        at_s = fmin(at_s, cluster->now_s + due_s);
    return fmax(at_s, cluster->now_s);
}

/* Lets time pass until until_s, without events. */
static void pass(struct cluster *cluster, double until_s)
{
    struct result *result = cluster->result;
    const double   hours = (until_s - cluster->now_s) / HOUR_S;
    size_t         i;

    for (i = 0; i < cluster->members.count; i++)
        if (cluster->members.item[i].state != MEMBER_AWAY && cluster->host[i].is_there)
            result->paid += hours;
    switch (cluster->state) {
    case STARTING:
        result->starting += hours;
        break;
    case TRAINING:
        if (is_whole(cluster)) /* else all ranks wait for a lost node */
            cluster->done += hours * (double)cluster->members.places;
        else
            result->stopping += hours;
        break;
    case SAVING:
        result->saving += hours;
        break;
    case STOPPING:
        result->stopping += hours;
        break;
    case WAITING:
        result->waiting += hours;
        break;
    case ENDED:
        break;
    }
    cluster->now_s = until_s;
}

static bool is_whole(const struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->members.places; i++) {
        const struct cluster_host *host = &cluster->host[cluster->members.place[i]];

        if (!host->is_there || host->missed_s != NEVER) /* its ranks are gone for good */
            return false;
    }
    return true;
}

static void turn(struct cluster *cluster)
{
    while (cluster->next < cluster->trace->count &&
           cluster->trace->event[cluster->next].at_s <= cluster->now_s)
        take_event(cluster, &cluster->trace->event[cluster->next++]);
    look_at_hosts(cluster);
    look_at_ranks(cluster);
    depart(cluster);
    ask_policy(cluster);
    depart(cluster);
    dial(cluster);
    judge_hosts(cluster);
}

/* ---- the trace ---- */

static void take_event(struct cluster *cluster, const struct trace_event *event)
{
    struct membership   *members = &cluster->members;
    struct cluster_host *host = &cluster->host[event->host];
    const size_t         which = (size_t)event->host;

    switch (event->kind) {
    case TRACE_NOTICE:
        membership_depart(members, which, DEPARTURE_CLOUD, "its cloud", cluster->now_s,
                          event->lead_s, fmin(MARGIN_S, event->lead_s));
        host->cloud_s = fmin(host->cloud_s, cluster->now_s + fmax(0, event->lead_s - MARGIN_S));
        break;
    case TRACE_LOSE:
        lose(cluster, event->host);
        break;
    case TRACE_RETURN:
        host->is_there = true;
        break;
    case TRACE_FAIL:
        if (members->item[which].state == MEMBER_IN && cluster->state <= SAVING &&
            cluster->now_s >= cluster->begun_s)
            stop(cluster, POLICY_END_RANK);
        break;
    case TRACE_DRAIN:
        membership_depart(members, which, DEPARTURE_DRAIN, "drain", cluster->now_s,
                          event->lead_s, 0);
        host->drain_s = fmin(host->drain_s, cluster->now_s + event->lead_s);
        break;
    case TRACE_UNLIST:
        membership_unlisted(members, which, cluster->now_s,
                            stage_of(cluster) == MEMBERSHIP_RUNNING ? event->lead_s : 0);
        host->is_unlisted = true;
        break;
    case TRACE_LIST:
        membership_listed(members, which);
        host->is_unlisted = false;
        if (!members->item[which].departure[DEPARTURE_DRAIN].is_set)
            host->drain_s = NEVER;
        if (!members->item[which].departure[DEPARTURE_CLOUD].is_set)
            host->cloud_s = NEVER;
        break;
    case TRACE_KINDS:
        break;
    }
}

static void lose(struct cluster *cluster, int which)
{
    const enum member_state state = cluster->members.item[which].state;
    struct cluster_host    *host = &cluster->host[which];

    host->is_there = false;
    if (state == MEMBER_IN || state == MEMBER_SPARE)
        host->missed_s = fmin(host->missed_s, cluster->now_s + cluster->job->detect_s);
    if (state == MEMBER_IN && cluster->state == STOPPING) /* it cannot report its end */
        cluster->until_s = fmax(cluster->until_s, host->missed_s);
}

/* Carries out what follows for hosts that leave. */
static void depart(struct cluster *cluster)
{
    struct membership       *members = &cluster->members;
    struct membership_action action;

    while ((action = membership_next(members, stage_of(cluster), cluster->now_s)).what !=
           MEMBERSHIP_DO_NOTHING)
        switch (action.what) {
        case MEMBERSHIP_DO_TELL:
            cluster->is_told = true;
            save_soon(cluster);
            break;
        case MEMBERSHIP_DO_TAKE_BACK:
            cluster->is_told = false;
            break;
        case MEMBERSHIP_DO_SEND_AWAY:
            cluster->host[action.which].joined_s = NEVER;
            cluster->host[action.which].missed_s = NEVER;
            membership_gone(members, action.which);
            break;
        case MEMBERSHIP_DO_END:
            if (members->item[action.which].state != MEMBER_IN)
                judge_wrong(cluster, "host%zu ends a generation in which it is not",
                            action.which + 1);
            stop(cluster, POLICY_END_CHANGE);
            break;
        case MEMBERSHIP_DO_NOTHING:
            break;
        }
}

static enum membership_stage stage_of(const struct cluster *cluster)
{
    if (cluster->state == TRAINING || cluster->state == SAVING)
        return MEMBERSHIP_RUNNING;
    return cluster->state == STARTING ? MEMBERSHIP_STARTING : MEMBERSHIP_STOPPED;
}

/* Ranks that wait for a lost node cannot save. */
static void save_soon(struct cluster *cluster)
{
    if (cluster->state == TRAINING && is_whole(cluster))
        save(cluster);
}

/* ---- hosts ---- */

static void look_at_hosts(struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->members.count; i++) {
        struct cluster_host *host = &cluster->host[i];

        if (host->missed_s <= cluster->now_s) {
            host->missed_s = NEVER;
            missed(cluster, i);
        }
        if (host->joined_s > cluster->now_s)
            continue;
        host->joined_s = NEVER;
        if (host->is_there)
            membership_joined(&cluster->members, i);
        else
            fail(cluster, i, false);
    }
}

static void missed(struct cluster *cluster, size_t which)
{
    const bool                is_in = cluster->members.item[which].state == MEMBER_IN;
    const bool                runs = cluster->state <= SAVING;
    const struct policy_event lost = { .kind = POLICY_EVENT_NODE_LOST,
                                       .now_s = cluster->now_s };

    if (cluster->members.item[which].state == MEMBER_AWAY)
        return;
    if (runs && cluster->now_s - cluster->begun_s > POLICY_LONG_S)
        membership_proved(&cluster->members);
    fail(cluster, which, is_in && runs);
    if (is_in && runs)
        stop(cluster, POLICY_END_NODE);
    if (is_in && cluster->state == WAITING)
        carry_out(cluster,
                  policy_next(&cluster->policy, cluster->rules, &cluster->members, &lost));
}

static void fail(struct cluster *cluster, size_t which, bool ended)
{
    cluster->host[which].failed_s = cluster->now_s;
    membership_lost(&cluster->members, which, cluster->now_s, ended);
    membership_gone(&cluster->members, which);
}

static void dial(struct cluster *cluster)
{
    size_t which;

    if (cluster->state == ENDED)
        return;
    while ((which = membership_dial(&cluster->members, &cluster->rules->members,
                                    cluster->now_s)) != MEMBERSHIP_NONE) {
        if (cluster->now_s - cluster->host[which].failed_s < MEMBERSHIP_COOL_S)
            judge_wrong(cluster, "host%zu is dialled while it cools down", which + 1);
        if (cluster->host[which].is_unlisted || cluster->host[which].drain_s != NEVER)
            judge_wrong(cluster, "host%zu is dialled, but drained, or not listed", which + 1);
        cluster->host[which].joined_s = cluster->now_s + cluster->job->join_s;
        cluster->host[which].cloud_s = NEVER; /* it is another machine, or was kept */
    }
}

/* ---- ranks ---- */

static void look_at_ranks(struct cluster *cluster)
{
    if (cluster->until_s > cluster->now_s)
        return;
    switch (cluster->state) {
    case STARTING:
        train(cluster);
        break;
    case TRAINING:
        if (cluster->job->work > 0 && cluster->done >= cluster->job->work - 1e-9)
            stop(cluster, POLICY_END_WELL);
        else
            save(cluster);
        break;
    case SAVING:
        if (is_whole(cluster))
            cluster->saved = cluster->done;
        membership_saved(&cluster->members, cluster->now_s);
        if (cluster->is_asked_to_end)
            stop(cluster, POLICY_END_CHANGE);
        else if (!cluster->is_told)
            train(cluster);
        else
            cluster->until_s = NEVER; /* the generation ends for the nodes that leave */
        break;
    case STOPPING:
        over(cluster);
        break;
    case WAITING:
    case ENDED:
        break;
    }
}

static void train(struct cluster *cluster)
{
    const struct job *job = cluster->job;
    double            left_s = NEVER;

    if (job->work > 0)
        left_s = (job->work - cluster->done) * HOUR_S / (double)cluster->members.places;
    cluster->state = TRAINING;
    cluster->until_s = cluster->now_s + fmin(job->every_s, fmax(left_s, 0));
    if (!is_whole(cluster)) /* the ranks wait for the lost node */
        cluster->until_s = NEVER;
    else if (cluster->is_asked_to_end || cluster->is_told)
        save(cluster);
}

static void save(struct cluster *cluster)
{
    cluster->state = SAVING;
    cluster->until_s = cluster->now_s + cluster->job->saving_s;
}

static void stop(struct cluster *cluster, enum policy_end end)
{
    size_t i;

    cluster->state = STOPPING;
    cluster->end = end;
    cluster->ended_s = cluster->now_s;
    cluster->until_s = cluster->now_s + cluster->job->stop_s;
    for (i = 0; i < cluster->members.places; i++) {
        const double missed_s = cluster->host[cluster->members.place[i]].missed_s;

        if (missed_s != NEVER)
            cluster->until_s = fmax(cluster->until_s, missed_s);
    }
    cluster->had_notice = cluster->is_told || cluster->is_asked_to_end;
    cluster->is_told = cluster->is_asked_to_end = false;
}

/* ---- the policy ---- */

static void over(struct cluster *cluster)
{
    struct policy_event event = {
        .kind = POLICY_EVENT_OVER,
        .now_s = cluster->now_s,
        .end = cluster->end,
        .is_world_whole = true,
        .lived_s = fmax(0, cluster->ended_s - cluster->begun_s),
        .ended_s = cluster->now_s - cluster->ended_s,
        .code = cluster->job->code,
        .rank_lived_s = fmax(0, cluster->ended_s - cluster->begun_s),
    };
    size_t i;

    for (i = 0; i < cluster->members.places; i++)
        event.is_world_whole &=
            cluster->members.item[cluster->members.place[i]].state == MEMBER_IN;
    if (event.lived_s > POLICY_LONG_S)
        membership_proved(&cluster->members);
    membership_over(&cluster->members, cluster->had_notice);
    cluster->state = WAITING;
    cluster->until_s = NEVER;
    if (event.end != POLICY_END_WELL) {
        cluster->result->lost += cluster->done - cluster->saved;
        cluster->done = cluster->saved;
    }
    carry_out(cluster,
              policy_next(&cluster->policy, cluster->rules, &cluster->members, &event));
}

static void ask_policy(struct cluster *cluster)
{
    const struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = cluster->now_s };

    if (cluster->state != STOPPING && cluster->state != ENDED && !cluster->is_asked_to_end)
        carry_out(cluster,
                  policy_next(&cluster->policy, cluster->rules, &cluster->members, &time));
}

static void carry_out(struct cluster *cluster, struct policy_action action)
{
    switch (action.what) {
    case POLICY_DO_NOTHING:
    case POLICY_DO_WAIT:
    case POLICY_DO_PARK:
        break;
    case POLICY_DO_START:
        start(cluster);
        break;
    case POLICY_DO_STOP:
        judge_growth(cluster);
        cluster->is_asked_to_end = true;
        save_soon(cluster);
        break;
    case POLICY_DO_END:
        cluster->result->status = judge_status(cluster, action.why);
        judge_end(cluster, action.why);
        cluster->state = ENDED;
        break;
    }
}

static void start(struct cluster *cluster)
{
    struct membership *members = &cluster->members;
    size_t            *world = xcalloc(members->count + members->places + 1, sizeof *world);
    size_t             places;

    if (cluster->result->generations++ > 0 && cluster->state != WAITING)
        judge_wrong(cluster, "two generations at once");
    if (cluster->result->generations > 1 && cluster->rules->members.goes_on) {
        places = next_world_choose(members, &cluster->rules->members, world);
        judge_world(cluster, world, places);
        if (places != members->places)
            cluster->changed_s = cluster->now_s;
        membership_take(members, &cluster->rules->members, world, places);
    }
    free(world);
    cluster->state = STARTING;
    cluster->begun_s = cluster->now_s + cluster->job->start_s;
    cluster->until_s = cluster->begun_s + cluster->job->loading_s;
    /* muster will notice, once, that a node is gone already. */
    for (places = 0; places < members->places; places++)
        if (!cluster->host[members->place[places]].is_there)
            lose(cluster, (int)members->place[places]);
}
