/* unreachable_pairs.h - pairs of nodes of which one cannot reach the other
 *
 * Nodes are numbers here, in the order of the plan. With up to PAIRS_ALL nodes all pairs are
 * tried; with more, each node tries its neighbours in a ring, and the first node. Nothing here
 * does I/O.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_UNREACHABLE_PAIRS_H
#define MUSTER_UNREACHABLE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "strlist.h"

#define PAIRS_ALL   16
#define PAIRS_SHOWN 16 /* lines; JSON has all */
#define PAIR_WHY_MAX 100 /* bytes of what a node gives as its reason */

struct reach_node {
    const char *host, *addr; /* borrowed */
};

struct unreachable_pair {
    size_t from, to;
    char  *why;  /* safe to print */
    bool   told; /* with its reverse */
};

/* Start from { .node = ..., .nodes = ... }. */
struct unreachable_pairs {
    const struct reach_node *node;
    size_t                   nodes;
    struct unreachable_pair *pair;
    size_t                   count;
};

void unreachable_pairs_clear(struct unreachable_pairs *pairs);

/* Does from try to reach to? */
bool unreachable_pairs_tries(const struct unreachable_pairs *pairs, size_t from, size_t to);

/* from cannot reach to; why: as a node has it, of any length. -1: it was not tried, or is
 * known. */
int unreachable_pairs_add(struct unreachable_pairs *pairs, size_t from, size_t to, const char *why);

/* When all were added, for people: "te1 and te2 cannot reach each other (10.0.0.1 -> 10.0.0.2:
 * timed out)"; that all is well, if lines is empty. */
void unreachable_pairs_tell(struct unreachable_pairs *pairs, struct strlist *lines);

/* For programs: [{"from", "to", "from_addr", "to_addr", "why"}, ...]. */
json_t *unreachable_pairs_json(const struct unreachable_pairs *pairs);

#endif
