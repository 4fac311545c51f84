/* slow_node.h - is a node slower than the others?
 *
 * All ranks wait for the slowest one, so that one hot GPU makes all nodes slow, and nothing shows
 * which. Pure functions compare the last sample of a node with the median of all nodes of its
 * world: a point that is below 0.85 of the median is off. A node with such a point in twelve
 * samples in a row, which is two minutes, is slow; with none in twelve in a row it is well again.
 * They read no clock.
 *
 * GPUs are compared with all other GPUs, also those of their own node; ports with the ports of the
 * same name on other nodes; processors, and the pace of steps, with those of other nodes. A median
 * counts if at least three have such a point.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SLOW_NODE_H
#define MUSTER_SLOW_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "elastic/slow_sample.h"

#define SLOW_SHARE    0.85 /* of the median */
#define SLOW_LEAST    3    /* values that make a median */
#define SLOW_IN_A_ROW 12   /* samples: two minutes */
#define SLOW_STALE_S  35.0 /* a sample that is older says nothing any more */
#define SLOW_WHY_SIZE 320

enum slow_change { SLOW_AS_BEFORE, SLOW_BEGINS, SLOW_IS_OVER };

/* Starts as { 0 }. */
struct slow_node {
    struct slow_sample sample;
    int                off, well;   /* samples in a row */
    double             off_since_s; /* the first of them came; valid if off > 0 */
    double             judged_s;    /* the last sample that counted; valid if off + well > 0 */
    bool               is_slow;
    char               why[SLOW_WHY_SIZE]; /* "GPU 5 runs at 1095 MHz, ..."; if off > 0, or slow */
};

struct slow_median {
    enum slow_kind kind;
    char           device[SLOW_NAME_SIZE]; /* "" if all devices are compared */
    double         value;
};

/* The medians of a world. Starts as { 0 }. */
struct slow_world {
    struct slow_median *median; /* those of SLOW_LEAST values or more */
    size_t              medians;
    double              at_s; /* valid if is_known */
    bool                is_known;
};

void slow_world_clear(struct slow_world *world);
/* Computes the medians of these nodes, unless they are younger than half a sample of every_s. */
void slow_world_look(struct slow_world *world, const struct slow_node *const *node, size_t nodes,
                     double every_s, double now_s);

/* A sample of the node has come: counts it, and says what follows. */
enum slow_change slow_node_judge(struct slow_node *node, const struct slow_world *world,
                                 double now_s);
/* Its ranks start again: counts from the beginning. It stays slow until it is well. */
void slow_node_again(struct slow_node *node);
void slow_node_clear(struct slow_node *node);

#endif
