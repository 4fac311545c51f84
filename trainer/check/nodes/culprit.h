/* culprit.h - finds the bad nodes, or bad links, behind bad pairs of nodes
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CULPRIT_H
#define MUSTER_CULPRIT_H

#include <stdbool.h>

/* Tables of pairs have nodes * nodes elements; [from * nodes + to] is that direction. */
struct culprits {
    bool *node; /* per node: bad with more than half of the nodes that are not culprits */
    bool *link; /* per pair: bad, and neither node is a culprit */
};

/* With only two nodes, a bad node looks the same as a bad link; then blames the link. Free with
 * culprits_clear(). */
void culprits_find(struct culprits *culprits, const bool *bad, int nodes);
void culprits_clear(struct culprits *culprits);

#endif
