/* culprit.h - some pairs of nodes are bad: is it a node, or the link between two?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CULPRIT_H
#define MUSTER_CULPRIT_H

#include <stdbool.h>

/* Tables of pairs are nodes * nodes long; [from * nodes + to] is that direction. */
struct culprits {
    bool *node; /* bad with more than half of the nodes that are not culprits already */
    bool *link; /* of the pairs: bad, and neither end is such a node */
};

/* Of two nodes neither can be told from the link: then there is only a link. Free with
 * culprits_clear. */
void culprits_find(struct culprits *culprits, const bool *bad, int nodes);
void culprits_clear(struct culprits *culprits);

#endif
