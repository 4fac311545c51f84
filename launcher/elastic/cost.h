/* cost.h - what a run has cost so far: the hours of its nodes, and what came of them
 *
 * Pure arithmetic: it knows no clock, and times are seconds of one that only goes forward. Each
 * second of a node that is there is one of these:
 *
 *     useful   the ranks ran, and what they did was kept: up to a checkpoint, or to a good end
 *     lost     the ranks ran, but their generation failed after the last checkpoint that is known
 *     waiting  there were no ranks: before a start, between two, as a spare
 *     open     the ranks run, and nobody knows yet
 *
 * So without checkpoints that muster knows of, a generation that failed is lost as a whole.
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
    double      price, on_demand_price; /* of an hour, in whatever money; COST_UNKNOWN */
    bool        is_here, is_member; /* it has ranks when ranks run */
    double      useful_s, lost_s, waiting_s, open_s;
};

/* Starts as { 0 }. */
struct cost {
    struct cost_node *node;
    size_t            count;
    double            now_s; /* all is counted up to there */
    bool              is_running;
};

/* The index of the node of that name, which is added if it is new, without a price. */
size_t cost_node(struct cost *cost, const char *name);
void   cost_clear(struct cost *cost);

/* What happens, in the order of time. Each first counts up to now_s. */
void cost_advance(struct cost *cost, double now_s);
void cost_here(struct cost *cost, size_t node, bool is_here, bool is_member, double now_s);
void cost_begin(struct cost *cost, double now_s);      /* a generation: its ranks start */
void cost_checkpoint(struct cost *cost, double now_s); /* all up to now is kept */
void cost_end(struct cost *cost, bool is_good, double now_s); /* no ranks run any more */

struct cost_sum {
    double hours, useful, lost, waiting, open; /* all in hours */
    double goodput;          /* the part that is useful or open, of 1; 0 without hours */
    double money, on_demand; /* COST_UNKNOWN: a price is missing */
};
/* Of all nodes of a class (NULL: of all), or of one. */
struct cost_sum cost_sum(const struct cost *cost, const char *class);
struct cost_sum cost_sum_of(const struct cost_node *node);

/* "spot" and its like, as the constant; NULL: there is no such class. */
const char *cost_class(const char *word);

/* cost_show.c: a few lines of at most 80 columns; the same for programs; and back, with what is
 * open. is_over: whoever counted is gone, so that what was open is lost. -1 with err. */
void    cost_print(const struct cost *cost, FILE *out);
json_t *cost_json(const struct cost *cost);
int     cost_from_json(struct cost *cost, const json_t *json, bool is_over, struct error *err);

#endif
