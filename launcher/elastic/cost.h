/* cost.h - what a run has cost so far: the hours of its nodes, and how many were useful
 *
 * Pure arithmetic: it reads no clock, and times are seconds of a clock that only goes forward.
 * Each second of a node that is there is one of these:
 *
 *     useful   the ranks ran, and their work was kept: up to a checkpoint, or to a good end
 *     lost     the ranks ran, but their generation failed after the last known checkpoint
 *     waiting  there were no ranks: before a start, between two generations, as a spare
 *     open     the ranks run, and it is not yet known whether their work is kept
 *
 * So if muster knows of no checkpoint, all of a failed generation is lost.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COST_H
#define MUSTER_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "err.h"

#define COST_NODES_MAX 65536
#define COST_UNKNOWN   (-1.0) /* of a price */

struct cost_node {
    char       *name;
    const char *class; /* "spot", "on-demand" or "unknown" */
    double      price, on_demand_price; /* per hour, in any currency; or COST_UNKNOWN */
    bool        is_here, is_member; /* it has ranks when ranks run */
    double      useful_s, lost_s, waiting_s, open_s;
};

/* Starts as { 0 }. */
struct cost {
    struct cost_node *node;
    size_t            count;
    double            now_s; /* everything is counted up to this time */
    bool              is_running;
};

/* Returns the index of the node with that name, which is added without a price if it is
 * new. */
size_t cost_node(struct cost *cost, const char *name);
void   cost_clear(struct cost *cost);

/* Events, in the order of time. Each call first counts up to now_s. */
void cost_advance(struct cost *cost, double now_s);
void cost_here(struct cost *cost, size_t node, bool is_here, bool is_member, double now_s);
void cost_begin(struct cost *cost, double now_s);      /* a generation: its ranks start */
void cost_checkpoint(struct cost *cost, double age_s, double now_s); /* all but the last age_s of
                                                                       the work is kept */
void cost_end(struct cost *cost, bool is_good, double now_s); /* no ranks run any more */

struct cost_sum {
    double hours, useful, lost, waiting, open; /* all in hours */
    double goodput;          /* the useful and open fraction; 0 without hours */
    double money, on_demand; /* COST_UNKNOWN: a price is missing */
};
/* Add up all nodes of a class (NULL: of all classes), or one node. */
struct cost_sum cost_sum(const struct cost *cost, const char *class);
struct cost_sum cost_sum_of(const struct cost_node *node);

/* Returns the constant for "spot" or another class; NULL: there is no such class. */
const char *cost_class(const char *word);

/* In cost_show.c: print a few lines of at most 80 columns; make JSON for programs; and read
 * that JSON, including open hours. is_over: the muster that counted is gone, so open hours are
 * lost. -1 with err. */
void    cost_print(const struct cost *cost, FILE *out);
json_t *cost_json(const struct cost *cost);
int     cost_from_json(struct cost *cost, const json_t *json, bool is_over, struct error *err);

#endif
