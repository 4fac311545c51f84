/* unreachable_pairs.h - pairs of nodes of which one does not reach the other
 *
 * Nodes are numbers here, in the order of the plan; up to PAIRS_ALL of them all pairs are
 * tried, with more only neighbours, in a ring, and from each the first node. Nothing here
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

/* Is that way tried? */
bool unreachable_pairs_tries(const struct unreachable_pairs *pairs, size_t from, size_t to);

/* In vain. why: as a node has it, of any length. -1: it was not tried, or is known. */
int unreachable_pairs_add(struct unreachable_pairs *pairs, size_t from, size_t to, const char *why);

/* When all have been added, for people: "te1 and te2 do not reach each other (10.0.0.1 ->
 * 10.0.0.2: timed out)", or that all is well where lines is empty. */
void unreachable_pairs_tell(struct unreachable_pairs *pairs, struct strlist *lines);

/* For programs: [{"from", "to", "from_addr", "to_addr", "why"}, ...]. */
json_t *unreachable_pairs_json(const struct unreachable_pairs *pairs);

#endif
