/* cluster.c - see cluster.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "sim/cluster.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define HOUR_S     3600.0
#define NEVER      HUGE_VAL
/* A node must leave this long before it is lost, whether or not the ranks have saved. */
#define MARGIN_S   20.0
/* Limits for a training that never ends: time after the trace, and turns. */
#define BEYOND_S   (60.0 * 86400)
#define TURNS_MAX  20000000

enum state {
    STARTING, /* until until_s, then it trains */
    TRAINING, /* until the next checkpoint at until_s */
    SAVING,   /* until until_s */
    STOPPING, /* until until_s, then the policy gets OVER */
    WAITING,  /* for the policy */
    ENDED,
};

struct host {
    bool   is_there;
    double failed_s; /* when it was last lost, or failed to join */
    double joined_s; /* JOINING: when that succeeds or fails */
    double missed_s; /* when muster notices that it is gone */
};

struct cluster {
    const struct trace        *trace;
    const struct job          *job;
    const struct policy_rules *rules;
    struct result             *result;
    struct policy              policy;
    struct members             members;
    struct host               *host;
    size_t                     next; /* event of the trace */
    double                     now_s;

    enum state      state;
    double          until_s;
    double          begun_s;              /* when this generation began */
    double          changed_s;            /* when the world last changed its size */
    double          ended_s;              /* STOPPING: since when */
    double          leave_s;              /* at the latest: a node leaves, or the world grows */
    bool            is_asked_to_end;      /* ... as soon as the ranks have saved */
    enum policy_end end;
    double          done, saved;          /* hours of one node */
};

static void   begin(struct cluster *cluster);
static double next_s(const struct cluster *cluster);
static void   pass(struct cluster *cluster, double until_s);
static void   turn(struct cluster *cluster);
static void   take_event(struct cluster *cluster, const struct trace_event *event);
static void   lose(struct cluster *cluster, int which);
static void   notice(struct cluster *cluster, const struct trace_event *event);
static void   look_at_hosts(struct cluster *cluster);
static void   missed(struct cluster *cluster, size_t which);
static void   fail(struct cluster *cluster, size_t which, bool ended);
static void   dial(struct cluster *cluster);
static void   look_at_ranks(struct cluster *cluster);
static void   train(struct cluster *cluster);
static void   save(struct cluster *cluster);
static void   stop(struct cluster *cluster, enum policy_end end);
static void   over(struct cluster *cluster);
static void   ask_policy(struct cluster *cluster);
static void   carry_out(struct cluster *cluster, struct policy_action action);
static void   start(struct cluster *cluster);
static void   judge_world(struct cluster *cluster, const size_t *world, size_t places);
static bool   is_allowed(const struct cluster *cluster, const size_t *world, size_t places);
static void   judge_growth(struct cluster *cluster);
static void   judge_end(struct cluster *cluster, enum policy_why why);
static int    status_of(const struct cluster *cluster, enum policy_why why);
static bool   is_whole(const struct cluster *cluster);
static void   wrong(struct cluster *cluster, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

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
            wrong(&cluster, "it never ends");
            break;
        }
        pass(&cluster, at_s);
        turn(&cluster);
    }
    result->wall = cluster.now_s / HOUR_S;
    result->useful = cluster.done;
    members_clear(&cluster.members);
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
        members_add(&cluster->members, cluster->job->slots);
        cluster->host[i] = (struct host){ true, -NEVER, NEVER, NEVER };
    }
    for (i = 0; i < nodes; i++) {
        world[i] = i;
        cluster->members.item[i].state = MEMBER_SPARE;
    }
    members_take(&cluster->members, &cluster->rules->members, world, nodes);
    free(world);
    cluster->leave_s = NEVER;
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
    at_s = fmin(at_s, cluster->leave_s);
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
    case STARTING: result->starting += hours; break;
    case TRAINING:
        if (is_whole(cluster)) /* else all ranks wait for a lost node */
            cluster->done += hours * (double)cluster->members.places;
        else
            result->stopping += hours;
        break;
    case SAVING:   result->saving += hours; break;
    case STOPPING: result->stopping += hours; break;
    case WAITING:  result->waiting += hours; break;
    case ENDED:    break;
    }
    cluster->now_s = until_s;
}

static bool is_whole(const struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->members.places; i++) {
        const struct host *host = &cluster->host[cluster->members.place[i]];

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
    ask_policy(cluster);
    dial(cluster);
}

/* ---- the trace ---- */

static void take_event(struct cluster *cluster, const struct trace_event *event)
{
    struct member *member = &cluster->members.item[event->host];

    switch (event->kind) {
    case TRACE_NOTICE:
        notice(cluster, event);
        break;
    case TRACE_LOSE:
        lose(cluster, event->host);
        break;
    case TRACE_RETURN: /* as another machine, which is offered again */
        cluster->host[event->host].is_there = true;
        member->is_leaving = false;
        break;
    case TRACE_FAIL:
        if (member->state == MEMBER_IN && cluster->state <= SAVING &&
            cluster->now_s >= cluster->begun_s)
            stop(cluster, POLICY_END_RANK);
        break;
    case TRACE_KINDS:
        break;
    }
}

static void lose(struct cluster *cluster, int which)
{
    const enum member_state state = cluster->members.item[which].state;
    struct host            *host = &cluster->host[which];

    host->is_there = false;
    if (state == MEMBER_IN || state == MEMBER_SPARE)
        host->missed_s = fmin(host->missed_s, cluster->now_s + cluster->job->detect_s);
    if (state == MEMBER_IN && cluster->state == STOPPING) /* it cannot report its end */
        cluster->until_s = fmax(cluster->until_s, host->missed_s);
}

/* All ranks save as soon as they can. */
static void notice(struct cluster *cluster, const struct trace_event *event)
{
    struct member *member = &cluster->members.item[event->host];

    member->is_leaving = true;
    if (member->state != MEMBER_IN || cluster->state > SAVING)
        return;
    cluster->is_asked_to_end = true;
    cluster->leave_s = fmin(cluster->leave_s, cluster->now_s + fmax(0, event->lead_s - MARGIN_S));
    if (cluster->state == TRAINING)
        save(cluster);
}

/* ---- hosts ---- */

static void look_at_hosts(struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->members.count; i++) {
        struct host   *host = &cluster->host[i];
        struct member *member = &cluster->members.item[i];

        if (host->missed_s <= cluster->now_s) {
            host->missed_s = NEVER;
            missed(cluster, i);
        }
        if (host->joined_s > cluster->now_s)
            continue;
        host->joined_s = NEVER;
        if (host->is_there)
            member->state = MEMBER_SPARE;
        else
            fail(cluster, i, false);
    }
}

static void missed(struct cluster *cluster, size_t which)
{
    const bool is_in = cluster->members.item[which].state == MEMBER_IN;
    const bool runs = cluster->state <= SAVING;
    const struct policy_event lost = { .kind = POLICY_EVENT_NODE_LOST, .now_s = cluster->now_s };

    if (cluster->members.item[which].state == MEMBER_AWAY)
        return;
    if (runs && cluster->now_s - cluster->begun_s > POLICY_LONG_S)
        members_proved(&cluster->members);
    fail(cluster, which, is_in && runs);
    if (is_in && runs)
        stop(cluster, POLICY_END_NODE);
    if (is_in && cluster->state == WAITING)
        carry_out(cluster, policy_next(&cluster->policy, cluster->rules, &cluster->members, &lost));
}

static void fail(struct cluster *cluster, size_t which, bool ended)
{
    cluster->host[which].failed_s = cluster->now_s;
    members_failed(&cluster->members, which, cluster->now_s, ended);
}

static void dial(struct cluster *cluster)
{
    size_t which;

    if (cluster->state == ENDED)
        return;
    while ((which = members_dial(&cluster->members, &cluster->rules->members,
                                 cluster->now_s)) != MEMBERS_NONE) {
        if (cluster->now_s - cluster->host[which].failed_s < MEMBERS_COOL_S)
            wrong(cluster, "host%zu is dialled while it cools down", which + 1);
        cluster->host[which].joined_s = cluster->now_s + cluster->job->join_s;
    }
}

/* ---- ranks ---- */

static void look_at_ranks(struct cluster *cluster)
{
    if (cluster->state <= SAVING && cluster->leave_s <= cluster->now_s)
        stop(cluster, POLICY_END_CHANGE);
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
        if (cluster->is_asked_to_end)
            stop(cluster, POLICY_END_CHANGE);
        else
            train(cluster);
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
    else if (cluster->is_asked_to_end)
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
    cluster->leave_s = NEVER;
    cluster->is_asked_to_end = false;
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
        members_proved(&cluster->members);
    cluster->state = WAITING;
    cluster->until_s = NEVER;
    if (event.end != POLICY_END_WELL) {
        cluster->result->lost += cluster->done - cluster->saved;
        cluster->done = cluster->saved;
    }
    carry_out(cluster, policy_next(&cluster->policy, cluster->rules, &cluster->members, &event));
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
        if (cluster->state == TRAINING)
            save(cluster);
        cluster->is_asked_to_end = true;
        break;
    case POLICY_DO_END:
        cluster->result->status = status_of(cluster, action.why);
        judge_end(cluster, action.why);
        cluster->state = ENDED;
        break;
    }
}

static void start(struct cluster *cluster)
{
    struct members *members = &cluster->members;
    size_t         *world = xcalloc(members->count + members->places + 1, sizeof *world);
    size_t          places;

    if (cluster->result->generations++ > 0 && cluster->state != WAITING)
        wrong(cluster, "two generations at once");
    if (cluster->result->generations > 1 && cluster->rules->members.goes_on) {
        places = members_choose(members, &cluster->rules->members, world);
        judge_world(cluster, world, places);
        if (places != members->places)
            cluster->changed_s = cluster->now_s;
        members_take(members, &cluster->rules->members, world, places);
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

static void judge_world(struct cluster *cluster, const size_t *world, size_t places)
{
    const struct members *members = &cluster->members;
    bool                 *has_place = xcalloc(members->count, sizeof *has_place);
    size_t                i;

    if (!is_allowed(cluster, world, places))
        wrong(cluster, "a world of %zu nodes is not allowed", places);
    for (i = 0; i < places; i++) {
        const struct member *member = &members->item[world[i]];

        if (has_place[world[i]])
            wrong(cluster, "host%zu has two places", world[i] + 1);
        if ((member->state != MEMBER_IN && member->state != MEMBER_SPARE) || member->is_leaving)
            wrong(cluster, "host%zu has a place, but was lost, or is to go", world[i] + 1);
        has_place[world[i]] = true;
    }
    free(has_place);
}

static bool is_allowed(const struct cluster *cluster, const size_t *world, size_t places)
{
    const struct member_rules *rules = &cluster->rules->members;
    int                        ranks = 0;
    size_t                     i;

    if (!rules->is_elastic)
        return places == (size_t)cluster->job->nodes;
    for (i = 0; i < places; i++)
        ranks += cluster->members.item[world[i]].slots;
    if (places == 0 || places < rules->min_nodes ||
        (rules->max_nodes > 0 && places > rules->max_nodes))
        return false;
    for (i = 0; i < rules->worlds_count; i++)
        if (rules->worlds[i] == ranks)
            return true;
    return rules->worlds_count == 0;
}

static void judge_growth(struct cluster *cluster)
{
    if (cluster->state > SAVING)
        wrong(cluster, "STOP, but no generation is alive");
    if (cluster->now_s < cluster->changed_s + cluster->rules->grow_s - 1)
        wrong(cluster, "it grows again after %.0f s", cluster->now_s - cluster->changed_s);
}

static void judge_end(struct cluster *cluster, enum policy_why why)
{
    const double waited_s = cluster->now_s - cluster->ended_s;

    if (why == POLICY_WHY_MAX_WAIT && fabs(waited_s - cluster->rules->max_wait_s) > 1)
        wrong(cluster, "it waited for %.0f s", waited_s);
    if (cluster->rules->members.goes_on && cluster->result->status == 69)
        wrong(cluster, "it ends because of a node");
    if (cluster->result->status == 0 && cluster->done < cluster->job->work - 1e-6)
        wrong(cluster, "it ends well, but is not done");
}

/* Returns the exit status, as documented for muster. */
static int status_of(const struct cluster *cluster, enum policy_why why)
{
    if (why == POLICY_WHY_NONE)
        return 0;
    if (why == POLICY_WHY_MAX_WAIT)
        return 75;
    if (why == POLICY_WHY_NODE || cluster->end == POLICY_END_NODE)
        return 69;
    return cluster->job->code;
}

static void wrong(struct cluster *cluster, const char *format, ...)
{
    struct result *result = cluster->result;
    va_list        arguments;
    int            used;

    if (result->wrong[0] != '\0')
        return;
    used = snprintf(result->wrong, sizeof result->wrong, "at %.0f s, generation %d: ",
                    cluster->now_s, result->generations - 1);
    va_start(arguments, format);
    vsnprintf(result->wrong + used, sizeof result->wrong - (size_t)used, format, arguments);
    va_end(arguments);
}
