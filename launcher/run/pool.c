/* pool.c - see pool.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/pool.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "node/body.h"
#include "node/reconnect.h"
#include "plan/hostfile.h"
#include "run/costs.h"
#include "run/generation.h"
#include "run/launch.h"
#include "run/leaving.h"
#include "run/notice.h"
#include "run/run.h"
#include "run/start_check.h"
#include "xalloc.h"
#include "xevent.h"

#define LEAVE_S 5.0 /* for an agent that must leave */

struct candidate {
    struct host     own;  /* if the host was listed later; else empty */
    struct selected host; /* with all its slots */
    struct plan     plan; /* while the node is connected: for a world of this node alone */
    struct node    *node; /* NULL: it is not connected, or has a place */
};

struct pool {
    struct members    members;
    struct candidate *item; /* by member */
    struct event     *tidy;
    bool              is_ending;
};

static void tidy_cb(evutil_socket_t fd, short what, void *arg);
static void check_hello(struct run *run, struct node *node);
static void frame_cb(struct node *node, const struct frame *frame, const json_t *body, void *arg);
static void changed_cb(struct node *node, void *arg);
static void stage_cb(struct node *node, void *arg);
static void over_cb(struct node *node, void *arg);
static void cleaned_cb(struct node *node, const struct orphan_cleanup_result *result, void *arg);
static void tell_failed(struct run *run, struct node *node);
static void look_again(struct run *run);
static bool is_gone(const struct node *node);
static int  make_plan(const struct run *run, size_t which, struct error *err);
static void add_host(struct run *run, const struct selected *offered);
static bool same_host(const struct host *one, const struct host *other);

static const struct node_ops ops = {
    .changed = changed_cb,
    .stage = stage_cb,
    .frame = frame_cb,
    .over = over_cb,
    .dial = phase_dial,
};

struct pool *pool_new(const struct run *run, const struct member_rules *rules)
{
    struct pool            *pool = xcalloc(1, sizeof *pool);
    const struct selection *hosts = run->plan->source != NULL ? run->plan->source->hosts : NULL;
    size_t                  count = rules->goes_on && hosts != NULL ? hosts->count : 0, i;
    size_t                 *world = xcalloc(run->plan->nodes + 1, sizeof *world);

    pool->item = xcalloc(count, sizeof *pool->item);
    for (i = 0; i < count; i++) {
        members_add(&pool->members, hosts->node[i].slots);
        pool->item[i].host = hosts->node[i];
        pool->item[i].host.slot = xmemdup(hosts->node[i].slot,
                                          (size_t)hosts->node[i].slots * sizeof(int));
    }
    for (i = 0; count > 0 && i < run->plan->nodes; i++)
        world[i] = i;
    if (count > 0)
        members_take(&pool->members, rules, world, run->plan->nodes);
    pool->tidy = evtimer_new(run->base, tidy_cb, (void *)run);
    if (pool->tidy == NULL)
        xalloc_die();
    free(world);
    return pool;
}

void pool_free(struct pool *pool)
{
    size_t i;

    if (pool == NULL)
        return;
    for (i = 0; i < pool->members.count; i++) {
        struct candidate *item = &pool->item[i];

        if (item->node != NULL)
            node_clear(item->node);
        free(item->node);
        plan_clear(&item->plan);
        free(item->host.slot);
        host_clear(&item->own);
    }
    event_free(pool->tidy);
    members_clear(&pool->members);
    free(pool->item);
    free(pool);
}

struct members *pool_members(const struct run *run)
{
    return &run->pool->members;
}

const char *pool_name(const struct run *run, size_t which)
{
    return run->pool->item[which].host.host->name;
}

size_t pool_find(const struct run *run, const char *name)
{
    size_t i;

    for (i = 0; i < run->pool->members.count; i++)
        if (strcmp(pool_name(run, i), name) == 0)
            return i;
    return MEMBERS_NONE;
}

struct selected pool_host(const struct run *run, size_t which, int slots)
{
    struct selected host = run->pool->item[which].host;

    if (slots < host.slots)
        host.slots = slots;
    return host;
}

size_t pool_count(const struct run *run)
{
    return run->pool->members.count;
}

size_t pool_nodes(const struct run *run)
{
    return run->plan->nodes + run->pool->members.count;
}

struct node *pool_node(const struct run *run, size_t number)
{
    return number < run->plan->nodes ? run->node[number]
                                     : run->pool->item[number - run->plan->nodes].node;
}

/* --- members that come and go ----------------------------------------------- */

void pool_connect(struct run *run, size_t which)
{
    struct candidate *item = &run->pool->item[which];
    struct error      err;

    if (make_plan(run, which, &err) < 0) {
        log_warn("%s: cannot take part: %s", pool_name(run, which), err.text);
        members_failed(&run->pool->members, which, generation_now_s(), false);
        return;
    }
    leaving_forget(run, pool_name(run, which));
    item->node = xcalloc(1, sizeof *item->node);
    node_init(item->node, which, &item->plan.node[0], run->base, &ops, run);
    node_connect(item->node, phase_conn(run, item->node, run->options->connect_timeout_s,
                                        &node_conn_ops, item->node));
}

struct node *pool_take(struct run *run, size_t which)
{
    struct candidate *item = &run->pool->item[which];
    struct node      *node = item->node;

    item->node = NULL;
    return node;
}

void pool_put(struct run *run, size_t which, struct node *node)
{
    struct candidate *item = &run->pool->item[which];
    struct error      err;

    item->node = node;
    if (make_plan(run, which, &err) < 0) /* not expected: it worked before */
        log_warn("%s: %s", pool_name(run, which), err.text);
    node_place(node, which, &item->plan.node[0], &ops);
    if (run->pool->members.item[which].is_leaving || !run->pool->members.item[which].is_offered)
        pool_leave(run, which);
}

/* Replaces the plan from an earlier connection, which is no longer used. */
static int make_plan(const struct run *run, size_t which, struct error *err)
{
    struct candidate *item = &run->pool->item[which];
    struct selection  alone = { &item->host, 1 };

    plan_clear(&item->plan);
    return plan_make_like(&item->plan, run->plan, &alone, err);
}

void pool_leave(struct run *run, size_t which)
{
    struct node *node = run->pool->item[which].node;

    if (node == NULL || node->state >= NODE_DONE)
        return;
    run->pool->members.item[which].state = MEMBER_GOING; /* no spare, even if listed again */
    if (node->state == NODE_STAYING) {
        node_leave(node, LEAVE_S);
    } else if (node->state >= NODE_PREPARING) {
        node_expect(node, "its final report", LEAVE_S + LAUNCH_STOP_S);
        node_stop(node, 0);
    } else {
        node_drop(node);
        look_again(run);
    }
}

bool pool_take_notice(struct run *run, struct node *node, double left_s, const char *reason)
{
    if (node->ops != &ops)
        return false;
    log_warn("%s leaves in %.0f s (%s); no rank runs there", node->plan->host, left_s, reason);
    members_leave(&run->pool->members, node->index);
    pool_leave(run, node->index);
    generation_changed(run); /* another host may take its place */
    return true;
}

bool pool_end(struct run *run)
{
    bool   is_empty = true;
    size_t i;

    run->pool->is_ending = true;
    for (i = 0; i < run->pool->members.count; i++) {
        pool_leave(run, i);
        is_empty = is_empty && is_gone(run->pool->item[i].node);
    }
    return is_empty;
}

void pool_offer(struct run *run, const struct selection *hosts)
{
    struct members *members = &run->pool->members;
    size_t          i, j;

    for (i = 0; i < members->count; i++) {
        bool was_offered = members->item[i].is_offered, is_offered = false;

        for (j = 0; j < hosts->count && !is_offered; j++)
            is_offered = same_host(hosts->node[j].host, run->pool->item[i].host.host);
        members->item[i].is_offered = is_offered;
        if (!is_offered || was_offered)
            continue;
        members->item[i].is_leaving = members->item[i].is_told = false;
        leaving_back(run, pool_name(run, i));
    }
    for (j = 0; j < hosts->count; j++) {
        for (i = 0; i < members->count; i++)
            if (same_host(hosts->node[j].host, run->pool->item[i].host.host))
                break;
        if (i == members->count)
            add_host(run, &hosts->node[j]);
    }
}

static bool same_host(const struct host *one, const struct host *other)
{
    return strcmp(one->name, other->name) == 0;
}

static void add_host(struct run *run, const struct selected *offered)
{
    const struct host *host = offered->host;
    struct pool       *pool = run->pool;
    size_t             which, i;

    if (pool->members.count >= HOSTFILE_HOSTS_MAX) {
        log_warn("%s: more than %d hosts were listed for this run", host->name,
                 HOSTFILE_HOSTS_MAX);
        return;
    }
    which = members_add(&pool->members, offered->slots);
    pool->item = xreallocarray(pool->item, pool->members.count, sizeof *pool->item);
    pool->item[which] = (struct candidate){ 0 };
    host_copy(&pool->item[which].own, host);
    pool->item[which].host = (struct selected){
        NULL, xmemdup(offered->slot, (size_t)offered->slots * sizeof(int)), offered->slots };
    for (i = 0; i < pool->members.count; i++) /* realloc() may have moved them */
        if (pool->item[i].own.name != NULL)
            pool->item[i].host.host = &pool->item[i].own;
}

/* --- callbacks of their nodes ----------------------------------------------- */

static void changed_cb(struct node *node, void *arg)
{
    struct run          *run = arg;
    const struct member *member = &run->pool->members.item[node->index];

    if (node->state >= NODE_ANSWERED && node->state <= NODE_READY)
        node_ping(node);
    switch (node->state) {
    case NODE_ANSWERED:
        costs_look(run);
        check_hello(run, node);
        break;
    case NODE_READY: /* that was the check: nothing must run there now */
        node_expect(node, "its final report", LAUNCH_STOP_S);
        node_stop(node, 0);
        break;
    case NODE_STAYING:
        if (run->pool->is_ending || member->is_leaving || !member->is_offered) {
            node_leave(node, LEAVE_S);
            break;
        }
        members_stay(&run->pool->members, node->index);
        log_info("%s: checked; it waits for a place", node->plan->host);
        generation_changed(run);
        break;
    default:
        break;
    }
}

static void check_hello(struct run *run, struct node *node)
{
    if (start_check_hello(run, node) && start_check_other(run, node))
        phase_check_node(run, node, &run->pool->item[node->index].plan);
}

static void stage_cb(struct node *node, void *arg)
{
    (void)node, (void)arg;
}

static void frame_cb(struct node *node, const struct frame *frame, const json_t *body, void *arg)
{
    struct run         *run = arg;
    struct conn_failure why = { .stage = "prepare" };

    if (frame->type == FRAME_READY && node->state == NODE_PREPARING && node->failure == NULL) {
        if (start_check_ready(run, node, body))
            node_enter(node, NODE_READY, 0);
    } else if (frame->type == FRAME_DONE && node->state >= NODE_PREPARING &&
               node->state <= NODE_STAYING) {
        if (json_is_true(json_object_get(body, "stays")) && node->failure == NULL)
            node_stay(node);
        else
            node_enter(node, NODE_DONE, LEAVE_S);
    } else if (frame->type == FRAME_NOTICE && node->failure == NULL) {
        notice_take(run, node, body);
    } else if (frame->type == FRAME_ERROR && node->failure == NULL) {
        why.exit_code = body_small_int(body, "code", EXIT_INTERNAL, 255);
        snprintf(why.text, sizeof why.text, "%s", body_text(body, "text"));
        snprintf(why.hint, sizeof why.hint, "%s", body_text(body, "hint"));
        node_give_up(node, &why, LEAVE_S + LAUNCH_STOP_S);
    } else if (node->state < NODE_DONE && node->stop_ns == 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s frame: muster did not ask for it",
                  frame_name(frame->type));
    }
}

static void over_cb(struct node *node, void *arg)
{
    struct run    *run = arg;
    struct member *member = &run->pool->members.item[node->index];

    if (node->failure != NULL && !run->pool->is_ending)
        tell_failed(run, node);
    if (node->failure != NULL)
        members_failed(&run->pool->members, node->index, generation_now_s(), false);
    member->state = MEMBER_GOING; /* until tidy_cb() frees the node: a member has one */
    if (node->state == NODE_FAILED && node->lost_agent)
        orphan_cleanup_start(node, run->plan->run_id, cleaned_cb, run);
    look_again(run);
}

static void cleaned_cb(struct node *node, const struct orphan_cleanup_result *result, void *arg)
{
    log_info("%s: %s", node->plan->host, result->text);
    look_again(arg);
}

void pool_look(struct run *run)
{
    struct members *members = &run->pool->members;
    bool            has_changed = false, is_silent;
    size_t          i;

    for (i = 0; i < members->count; i++) {
        const struct node *node = run->pool->item[i].node;

        if (node == NULL || node->state != NODE_STAYING)
            continue;
        is_silent = node->liveness.is_suspect || reconnect_is_cut(node->reconnect);
        has_changed = has_changed || is_silent != members->item[i].is_silent;
        members->item[i].is_silent = is_silent;
    }
    if (has_changed)
        generation_changed(run);
}

/* Warns once per host, however often muster tries to connect. */
static void tell_failed(struct run *run, struct node *node)
{
    struct member *member = &run->pool->members.item[node->index];

    if (member->is_told)
        log_info("%s: %s: %s", node->plan->host, node->failure->stage, node->failure->text);
    else if (member->state == MEMBER_SPARE)
        log_warn("%s: spare lost: %s", node->plan->host, node->failure->text);
    else
        log_warn("%s: cannot take part now: %s: %s%s%s", node->plan->host, node->failure->stage,
                 node->failure->text, node->failure->hint[0] != '\0' ? "; " : "",
                 node->failure->hint);
    member->is_told = true;
}

/* Calls tidy_cb() in the next turn of the loop, when no caller uses the node any more. */
static void look_again(struct run *run)
{
    const struct timeval now = { 0 };

    xevent_add(run->pool->tidy, &now);
}

static void tidy_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;
    size_t      i;

    (void)fd, (void)what;
    for (i = 0; i < run->pool->members.count; i++) {
        struct node *node = run->pool->item[i].node;

        if (node == NULL || !is_gone(node))
            continue;
        node_clear(node);
        free(node);
        run->pool->item[i].node = NULL;
        run->pool->members.item[i].state = MEMBER_AWAY;
    }
    if (run->pool->is_ending)
        phase_maybe_end(run);
    else
        generation_changed(run);
}

static bool is_gone(const struct node *node)
{
    return node == NULL || (node_is_over(node) && node->cleanup == NULL);
}
