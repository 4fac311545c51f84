/* cost.c - see cost.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/cost.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define HOUR_S 3600.0

static const char *const classes[] = { "spot", "on-demand", "unknown" };

static void close_all(struct cost *cost, bool is_useful);
static void add(double *sum, double value);

size_t cost_node(struct cost *cost, const char *name)
{
    size_t i;

    for (i = 0; i < cost->count; i++)
        if (strcmp(cost->node[i].name, name) == 0)
            return i;
    cost->node = xreallocarray(cost->node, cost->count + 1, sizeof *cost->node);
    cost->node[cost->count] = (struct cost_node){ .name = xstrdup(name),
                                                  .class = cost_class("unknown"),
                                                  .price = COST_UNKNOWN,
                                                  .on_demand_price = COST_UNKNOWN };
    return cost->count++;
}

void cost_clear(struct cost *cost)
{
    size_t i;

    for (i = 0; i < cost->count; i++)
        free(cost->node[i].name);
    free(cost->node);
    *cost = (struct cost){ 0 };
}

void cost_advance(struct cost *cost, double now_s)
{
    double passed_s = now_s - cost->now_s;
    size_t i;

    if (!(passed_s > 0))
        return;
    for (i = 0; i < cost->count; i++) {
        struct cost_node *node = &cost->node[i];

        if (node->is_here && node->is_member && cost->is_running)
            node->open_s += passed_s;
        else if (node->is_here)
            node->waiting_s += passed_s;
    }
    cost->now_s = now_s;
}

void cost_here(struct cost *cost, size_t node, bool is_here, bool is_member, double now_s)
{
    cost_advance(cost, now_s);
    cost->node[node].is_here = is_here;
    cost->node[node].is_member = is_member;
}

void cost_begin(struct cost *cost, double now_s)
{
    cost_advance(cost, now_s);
    cost->is_running = true;
}

void cost_checkpoint(struct cost *cost, double age_s, double now_s)
{
    double kept_s;
    size_t i;

    cost_advance(cost, now_s);
    for (i = 0; i < cost->count; i++) {
        kept_s = cost->node[i].open_s - age_s;
        if (kept_s <= 0)
            continue;
        cost->node[i].useful_s += kept_s;
        cost->node[i].open_s -= kept_s;
    }
}

void cost_end(struct cost *cost, bool is_good, double now_s)
{
    cost_advance(cost, now_s);
    close_all(cost, is_good);
    cost->is_running = false;
}

static void close_all(struct cost *cost, bool is_useful)
{
    size_t i;

    for (i = 0; i < cost->count; i++) {
        struct cost_node *node = &cost->node[i];

        *(is_useful ? &node->useful_s : &node->lost_s) += node->open_s;
        node->open_s = 0;
    }
}

struct cost_sum cost_sum(const struct cost *cost, const char *class)
{
    struct cost_sum sum = { 0 }, one;
    size_t          i;

    for (i = 0; i < cost->count; i++) {
        if (class != NULL && strcmp(cost->node[i].class, class) != 0)
            continue;
        one = cost_sum_of(&cost->node[i]);
        sum.hours += one.hours;
        sum.useful += one.useful;
        sum.lost += one.lost;
        sum.waiting += one.waiting;
        sum.open += one.open;
        add(&sum.money, one.money);
        add(&sum.on_demand, one.on_demand);
    }
    if (sum.hours > 0)
        sum.goodput = (sum.useful + sum.open) / sum.hours;
    return sum;
}

struct cost_sum cost_sum_of(const struct cost_node *node)
{
    struct cost_sum sum = { .useful = node->useful_s / HOUR_S, .lost = node->lost_s / HOUR_S,
                            .waiting = node->waiting_s / HOUR_S, .open = node->open_s / HOUR_S };
    double          on_demand = node->on_demand_price;

    if (on_demand < 0 && strcmp(node->class, "on-demand") == 0)
        on_demand = node->price;
    sum.hours = sum.useful + sum.lost + sum.waiting + sum.open;
    if (sum.hours > 0)
        sum.goodput = (sum.useful + sum.open) / sum.hours;
    sum.money = node->price < 0 ? COST_UNKNOWN : sum.hours * node->price;
    sum.on_demand = on_demand < 0 ? COST_UNKNOWN : sum.hours * on_demand;
    return sum;
}

static void add(double *sum, double value)
{
    *sum = *sum < 0 || value < 0 ? COST_UNKNOWN : *sum + value;
}

const char *cost_class(const char *word)
{
    size_t i;

    for (i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(word, classes[i]) == 0)
            return classes[i];
    return NULL;
}
