/* unreachable_pairs.h - pairs of nodes where one cannot reach the other
 *
 * Nodes are numbered in the order of the plan. With up to PAIRS_ALL nodes, all pairs are tried;
 * with more, each node tries its neighbours in a ring and the first node. Nothing here does
 * I/O.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_UNREACHABLE_PAIRS_H
#define MUSTER_UNREACHABLE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "strlist.h"

#define PAIRS_ALL   16
#define PAIRS_SHOWN 16 /* lines shown; JSON contains all */
#define PAIR_WHY_MAX 100 /* bytes of the reason that a node gives */

struct reach_node {
    const char *host, *addr; /* borrowed */
};

struct unreachable_pair {
    size_t from, to;
    char  *why;  /* safe to print */
    bool   told; /* already told, together with its reverse */
};

/* Initialize it as { .node = ..., .nodes = ... }. */
struct unreachable_pairs {
    const struct reach_node *node;
    size_t                   nodes;
    struct unreachable_pair *pair;
    size_t                   count;
};

void unreachable_pairs_clear(struct unreachable_pairs *pairs);

/* Does from try to reach to? */
bool unreachable_pairs_tries(const struct unreachable_pairs *pairs, size_t from, size_t to);

/* Adds that from cannot reach to. why: as the node sent it, of any length. -1: this pair was
 * not tried, or is already known. */
int unreachable_pairs_add(struct unreachable_pairs *pairs, size_t from, size_t to, const char *why);

/* Call it when all pairs were added. Adds to lines, for the user: "te1 and te2 cannot reach
 * each other (10.0.0.1 -> 10.0.0.2: timed out)". If lines is still empty, adds that all nodes
 * can reach each other. */
void unreachable_pairs_tell(struct unreachable_pairs *pairs, struct strlist *lines);

/* Returns [{"from", "to", "from_addr", "to_addr", "why"}, ...]. */
json_t *unreachable_pairs_json(const struct unreachable_pairs *pairs);

#endif
