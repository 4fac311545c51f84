/* costs.c - see costs.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/costs.h"

#include <string.h>

#include "clock.h"
#include "log.h"
#include "run/pool.h"
#include "run/run.h"

static void   look_at(struct run *run, const struct node *node, bool is_member, double now_s);
static size_t index_of(struct run *run, const struct node *node);
static double now_s(void);

void costs_open(struct run *run)
{
    struct error err;

    if (run->dir.cost != NULL && cost_from_json(&run->cost, run->dir.cost, true, &err) < 0)
        log_warn("earlier costs are not counted: %s", err.text);
    cost_advance(&run->cost, now_s());
}

void costs_close(struct run *run)
{
    cost_clear(&run->cost);
}

void costs_look(struct run *run)
{
    size_t i;

    if (run_is_exec(run))
        return;
    cost_advance(&run->cost, now_s());
    for (i = 0; i < run->cost.count; i++)
        run->cost.node[i].is_here = false; /* nodes that have gone are in neither list */
    for (i = 0; i < pool_nodes(run); i++)
        if (pool_node(run, i) != NULL)
            look_at(run, pool_node(run, i), i < run->plan->nodes, run->cost.now_s);
}

/* A node costs money from its first answer until it is over; a spare is waiting. */
static void look_at(struct run *run, const struct node *node, bool is_member, double at_s)
{
    size_t            index = index_of(run, node);
    struct cost_node *about = &run->cost.node[index];
    bool              is_here = node->state >= NODE_ANSWERED && !node_is_over(node);

    if (node->plan->class != NULL)
        about->class = cost_class(node->plan->class);
    about->price = node->plan->price > 0 ? node->plan->price : COST_UNKNOWN;
    about->on_demand_price =
        node->plan->on_demand_price > 0 ? node->plan->on_demand_price : COST_UNKNOWN;
    cost_here(&run->cost, index, is_here, is_member, at_s);
}

/* The nodes are mostly in the order of the plan, so that a search is rarely needed. */
static size_t index_of(struct run *run, const struct node *node)
{
    const struct cost *cost = &run->cost;

    if (node->index < cost->count &&
        strcmp(cost->node[node->index].name, node->plan->host) == 0)
        return node->index;
    return cost_node(&run->cost, node->plan->host);
}

/* A class in the hostfile takes precedence: look_at() sets it. */
void costs_class(struct run *run, const struct node *node, const char *class)
{
    const char *known = cost_class(class);
    size_t      index = index_of(run, node); /* may reallocate the array */

    log_info("%s: %s, according to its cloud", node->plan->host,
             known != NULL ? known : "of no class");
    if (known != NULL && node->plan->class == NULL)
        run->cost.node[index].class = known;
}

void costs_running(struct run *run)
{
    costs_look(run);
    cost_begin(&run->cost, now_s());
}

void costs_checkpoint(struct run *run, double age_s)
{
    costs_look(run);
    cost_checkpoint(&run->cost, age_s, now_s());
}

void costs_over(struct run *run, bool is_good)
{
    cost_end(&run->cost, is_good, now_s());
    costs_look(run);
}

static double now_s(void)
{
    return (double)clock_now_ns() / NS_PER_S;
}
