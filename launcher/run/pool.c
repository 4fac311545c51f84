/* pool.c - see pool.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/pool.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "node/reconnect.h"
#include "plan/hostfile.h"
#include "run/run.h"
#include "xalloc.h"
#include "xevent.h"

#define LEAVE_S 5.0 /* for an agent that must leave */

struct candidate {
    struct host     own;  /* if the host was listed later; else empty */
    struct selected host; /* with all its slots */
    struct plan     plan; /* while the node is connected: for a world of this node alone */
    struct node    *node; /* NULL: it is not connected, or has a place */
    bool            has_warned; /* the user knows that it failed the check */
};

struct pool {
    const struct node_ops *ops;
    struct membership      members;
    struct candidate      *item; /* by member */
    struct event          *tidy;
    bool                   is_ending;
};

static void take_hosts(struct pool *pool, const struct selection *hosts);
static int  make_plan(const struct run *run, size_t which, struct error *err);
static void add_host(struct run *run, const struct selected *listed);
static void tidy_cb(evutil_socket_t fd, short what, void *arg);
static bool is_gone(const struct node *node);

/* A run whose nodes do not change has those of the plan. */
struct pool *pool_new(struct run *run, const struct node_ops *ops)
{
    const struct plan *plan = run->plan;
    struct pool       *pool = xcalloc(1, sizeof *pool);
    size_t            *world = xcalloc(plan->nodes + 1, sizeof *world), i;

    pool->ops = ops;
    if (run->rules.members.goes_on)
        take_hosts(pool, plan->source->hosts);
    else
        pool->item = xcalloc(plan->nodes + 1, sizeof *pool->item);
    for (i = 0; i < plan->nodes; i++) {
        if (!run->rules.members.goes_on)
            membership_add(&pool->members, plan->node[i].host, plan->node[i].ranks);
        world[i] = i;
    }
    membership_take(&pool->members, &run->rules.members, world, plan->nodes);
    pool->tidy = evtimer_new(run->base, tidy_cb, run);
    if (pool->tidy == NULL)
        xalloc_die();
    free(world);
    return pool;
}

static void take_hosts(struct pool *pool, const struct selection *hosts)
{
    size_t i;

    pool->item = xcalloc(hosts->count, sizeof *pool->item);
    for (i = 0; i < hosts->count; i++) {
        const struct selected *host = &hosts->node[i];

        membership_add(&pool->members, host->host->name, host->slots);
        pool->item[i].host = *host;
        pool->item[i].host.slot =
            xmemdup(host->slot, (size_t)(host->slots + host->more) * sizeof(int));
    }
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
    membership_clear(&pool->members);
    free(pool->item);
    free(pool);
}

struct membership *pool_members(const struct run *run)
{
    return &run->pool->members;
}

const char *pool_name(const struct run *run, size_t which)
{
    return run->pool->members.item[which].name;
}

struct selected pool_host(const struct run *run, size_t which, int slots)
{
    struct selected host = run->pool->item[which].host;

    if (slots < host.slots)
        host.slots = slots;
    return host;
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

struct node *pool_make_node(struct run *run, size_t which)
{
    struct candidate *item = &run->pool->item[which];
    struct error      err;

    if (make_plan(run, which, &err) < 0) {
        log_warn("%s: cannot take part: %s", pool_name(run, which), err.text);
        membership_lost(&run->pool->members, which, clock_now_s(), false);
        membership_gone(&run->pool->members, which);
        return NULL;
    }
    item->node = xcalloc(1, sizeof *item->node);
    node_init(item->node, which, &item->plan.node[0], run->base, run->pool->ops, run);
    return item->node;
}

const struct plan *pool_plan(const struct run *run, size_t which)
{
    return &run->pool->item[which].plan;
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
    node_place(node, which, &item->plan.node[0], run->pool->ops);
    run_changed(run); /* it may have to leave */
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
    membership_leaving(&run->pool->members, which); /* no spare, even if it is listed again */
    if (node->state == NODE_STAYING) {
        node_leave(node, LEAVE_S);
    } else if (node->state >= NODE_PREPARING) {
        node_expect(node, "its final report", LEAVE_S + NODE_STOP_S);
        node_stop(node, 0);
    } else {
        node_drop(node);
        pool_tidy(run);
    }
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

void pool_offer(struct run *run, const struct selection *hosts, double save_s)
{
    struct membership *members = &run->pool->members;
    const size_t       known = members->count;
    bool              *is_listed = xcalloc(known + 1, sizeof *is_listed);
    size_t             which, i;

    for (i = 0; i < hosts->count; i++) {
        which = membership_find(members, hosts->node[i].host->name);
        if (which == MEMBERSHIP_NONE)
            add_host(run, &hosts->node[i]);
        else if (which < known)
            is_listed[which] = true;
    }
    for (i = 0; i < known; i++) {
        if (is_listed[i] && !members->item[i].is_listed)
            run->pool->item[i].has_warned = false;
        if (is_listed[i])
            membership_listed(members, i);
        else if (membership_unlisted(members, i, clock_now_s(), save_s) &&
                 membership_place(members, i) != MEMBERSHIP_NONE && save_s > 0)
            log_warn("%s leaves in %.0f s (%s)",
                     plan_label(&run->plan->node[membership_place(members, i)]), save_s,
                     MEMBERSHIP_UNLISTED);
    }
    free(is_listed);
    run_changed(run);
}

static void add_host(struct run *run, const struct selected *listed)
{
    const struct host *host = listed->host;
    struct pool       *pool = run->pool;
    struct candidate   item = { 0 };
    size_t             i;

    if (pool->members.count >= HOSTFILE_HOSTS_MAX) {
        log_warn("%s: more than %d hosts were listed for this run", host->name,
                 HOSTFILE_HOSTS_MAX);
        return;
    }
    host_copy(&item.own, host);
    item.host = *listed;
    item.host.slot = xmemdup(listed->slot,
                             (size_t)(listed->slots + listed->more) * sizeof(int));
    pool->item = xreallocarray(pool->item, pool->members.count + 1, sizeof *pool->item);
    pool->item[membership_add(&pool->members, item.own.name, listed->slots)] = item;
    for (i = 0; i < pool->members.count; i++) /* realloc() may have moved them */
        if (pool->item[i].own.name != NULL)
            pool->item[i].host.host = &pool->item[i].own;
}

bool pool_is_ending(const struct run *run)
{
    return run->pool->is_ending;
}

void pool_look(struct run *run)
{
    struct membership *members = &run->pool->members;
    bool               has_changed = false;
    size_t             i;

    for (i = 0; i < members->count; i++) {
        const struct node *node = run->pool->item[i].node;

        if (node != NULL && node->state == NODE_STAYING &&
            membership_heard(members, i,
                             !node->liveness.is_suspect && !reconnect_is_cut(node->reconnect)))
            has_changed = true;
    }
    if (has_changed)
        run_changed(run);
}

void pool_joined(struct run *run, size_t which)
{
    run->pool->item[which].has_warned = false;
    membership_joined(&run->pool->members, which);
    run_changed(run);
}

void pool_over(struct run *run, size_t which)
{
    struct candidate  *item = &run->pool->item[which];
    const struct node *node = item->node;
    const bool         is_spare = run->pool->members.item[which].state == MEMBER_SPARE;

    if (node->failure == NULL) {
        membership_leaving(&run->pool->members, which);
        return;
    }
    membership_lost(&run->pool->members, which, clock_now_s(), false);
    if (conn_failure_is_no_start(node->failure))
        membership_refused(&run->pool->members, which);
    if (run->pool->is_ending)
        return;
    if (item->has_warned)
        log_info("%s: %s: %s", node->plan->host, node->failure->stage, node->failure->text);
    else if (is_spare)
        log_warn("%s: spare lost: %s", node->plan->host, node->failure->text);
    else
        log_warn("%s: cannot take part now: %s: %s%s%s", node->plan->host, node->failure->stage,
                 node->failure->text, node->failure->hint[0] != '\0' ? "; " : "",
                 node->failure->hint);
    item->has_warned = true;
}

void pool_tidy(struct run *run)
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
        membership_gone(&run->pool->members, i);
    }
    run_changed(run);
}

static bool is_gone(const struct node *node)
{
    return node == NULL || (node_is_over(node) && node->cleanup == NULL);
}
