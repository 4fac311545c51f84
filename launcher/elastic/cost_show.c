/* cost_show.c - what a run has cost, as text and as JSON
 *
 *     cost: 12.500 node hours: 80.0 % useful, 15.0 % lost, 5.0 % waiting
 *     NODE               CLASS       HOURS  USEFUL    LOST WAITING     COST ON DEMAND
 *     te1                spot        6.250   5.000   0.950   0.300     5.62     20.00
 *     te2                unknown     6.250   5.000   0.950   0.300        -         -
 *     all                -          12.500  10.000   1.900   0.600        -         -
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/cost.h"
#include "frame.h"
#include "sanitize.h"
#include "xalloc.h"

#define ROWS_MAX  16 /* with more nodes, prints only sums by class */
#define NAME_SIZE 18
#define SECONDS_MAX 1e10

static void print_row(const char *name, const char *class, const struct cost_sum *sum, FILE *out);
static void print_hours(double hours, FILE *out);
static void print_money(double money, FILE *out);
static json_t *json_of(const struct cost_node *node);
static json_t *money_json(double money);
static int  read_node(struct cost *cost, const json_t *json);
static bool read_seconds(const json_t *json, const char *key, double *value);

void cost_print(const struct cost *cost, FILE *out)
{
    static const char *const classes[] = { "spot", "on-demand", "unknown" };
    struct cost_sum          all = cost_sum(cost, NULL), sum;
    double                   whole = all.hours > 0 ? all.hours / 100 : 1;
    size_t                   i;

    fprintf(out, "cost: %.*f node hours: %.1f %% useful, %.1f %% lost, %.1f %% waiting",
            all.hours < 100 ? 3 : 1, all.hours, (all.useful + all.open) / whole, all.lost / whole,
            all.waiting / whole);
    fprintf(out, "\n%-*s %-9s %7s %7s %7s %7s %8s %9s\n", NAME_SIZE, "NODE", "CLASS", "HOURS",
            "USEFUL", "LOST", "WAITING", "COST", "ON DEMAND");
    for (i = 0; i < cost->count && cost->count <= ROWS_MAX; i++) {
        sum = cost_sum_of(&cost->node[i]);
        print_row(cost->node[i].name, cost->node[i].class, &sum, out);
    }
    for (i = 0; i < sizeof classes / sizeof *classes; i++) {
        sum = cost_sum(cost, classes[i]);
        if (sum.hours > 0 && sum.hours < all.hours)
            print_row("all of", classes[i], &sum, out);
    }
    print_row("all", "-", &all, out);
}

static void print_row(const char *name, const char *class, const struct cost_sum *sum, FILE *out)
{
    char *safe = sanitize_text(name, strlen(name));

    fprintf(out, "%-*.*s %-9s", NAME_SIZE, NAME_SIZE, safe, class);
    print_hours(sum->hours, out);
    print_hours(sum->useful + sum->open, out);
    print_hours(sum->lost, out);
    print_hours(sum->waiting, out);
    print_money(sum->money, out);
    fputc(' ', out);
    print_money(sum->on_demand, out);
    fputc('\n', out);
    free(safe);
}

/* Short runs have few hours, so these get more digits. */
static void print_hours(double hours, FILE *out)
{
    fprintf(out, hours < 100 ? " %7.3f" : " %7.1f", hours);
}

static void print_money(double money, FILE *out)
{
    if (money < 0)
        fprintf(out, " %8s", "-");
    else
        fprintf(out, " %8.2f", money);
}

json_t *cost_json(const struct cost *cost)
{
    struct cost_sum all = cost_sum(cost, NULL);
    json_t         *nodes = json_array();
    size_t          i;

    for (i = 0; i < cost->count; i++)
        json_array_append_new(nodes, json_of(&cost->node[i]));
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "hours", all.hours,
                     "useful_hours", all.useful, "lost_hours", all.lost, "waiting_hours",
                     all.waiting, "open_hours", all.open, "goodput", all.goodput, "cost",
                     money_json(all.money), "on_demand_cost", money_json(all.on_demand), "nodes",
                     nodes);
}

static json_t *json_of(const struct cost_node *node)
{
    struct cost_sum sum = cost_sum_of(node);

    return json_pack("{s:o, s:s, s:o, s:o, s:f, s:f, s:f, s:f, s:o, s:o}", "node",
                     json_text(node->name, strlen(node->name)), "class", node->class, "price",
                     money_json(node->price), "on_demand_price",
                     money_json(node->on_demand_price), "useful_s", node->useful_s, "lost_s",
                     node->lost_s, "waiting_s", node->waiting_s, "open_s", node->open_s, "cost",
                     money_json(sum.money), "on_demand_cost", money_json(sum.on_demand));
}

static json_t *money_json(double money)
{
    return money < 0 ? json_null() : json_real(money);
}

int cost_from_json(struct cost *cost, const json_t *json, bool is_over, struct error *err)
{
    const json_t *nodes = json_object_get(json, "nodes"), *node;
    size_t        i;

    *cost = (struct cost){ 0 };
    if (!json_is_array(nodes) || json_array_size(nodes) > COST_NODES_MAX)
        return err_set(err, "the cost of the run is not known");
    json_array_foreach(nodes, i, node) {
        if (read_node(cost, node) == 0)
            continue;
        cost_clear(cost);
        return err_set(err, "the cost of the run cannot be read: node %zu is invalid", i + 1);
    }
    if (is_over)
        cost_end(cost, false, cost->now_s);
    return 0;
}

static int read_node(struct cost *cost, const json_t *json)
{
    const char       *name = json_string_value(json_object_get(json, "node"));
    const char       *class = json_string_value(json_object_get(json, "class"));
    const json_t     *price = json_object_get(json, "price");
    const json_t     *on_demand = json_object_get(json, "on_demand_price");
    struct cost_node  read = { 0 }, *node;
    size_t            before = cost->count, at;

    if (name == NULL || class == NULL || cost_class(class) == NULL ||
        !read_seconds(json, "useful_s", &read.useful_s) ||
        !read_seconds(json, "lost_s", &read.lost_s) ||
        !read_seconds(json, "waiting_s", &read.waiting_s) ||
        !read_seconds(json, "open_s", &read.open_s) ||
        (json_is_number(price) && !read_seconds(json, "price", &read.price)) ||
        (json_is_number(on_demand) &&
         !read_seconds(json, "on_demand_price", &read.on_demand_price)))
        return -1;
    at = cost_node(cost, name);
    if (at != before)
        return -1; /* named twice */
    node = &cost->node[at];
    read.name = node->name;
    read.class = cost_class(class);
    read.price = json_is_number(price) ? read.price : COST_UNKNOWN;
    read.on_demand_price = json_is_number(on_demand) ? read.on_demand_price : COST_UNKNOWN;
    *node = read;
    return 0;
}

static bool read_seconds(const json_t *json, const char *key, double *value)
{
    const json_t *number = json_object_get(json, key);

    *value = json_number_value(number);
    return json_is_number(number) && isfinite(*value) && *value >= 0 && *value <= SECONDS_MAX;
}
