/* culprit.c - see culprit.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/nodes/culprit.h"

#include <stdlib.h>

#include "xalloc.h"

static int bad_peers(const struct culprits *culprits, const bool *bad, int nodes, int node);

/* Takes the worst node first, and then ignores its pairs. Otherwise they would count against
 * the other nodes, half of which may be bad only with this one. */
void culprits_find(struct culprits *culprits, const bool *bad, int nodes)
{
    int left = nodes, node, worst, peers, most, from, to;

    culprits->node = xcalloc((size_t)nodes, sizeof(bool));
    culprits->link = xcalloc((size_t)nodes * (size_t)nodes, sizeof(bool));
    for (; left > 2; left--) {
        for (node = worst = most = 0; node < nodes; node++) {
            peers = culprits->node[node] ? 0 : bad_peers(culprits, bad, nodes, node);
            if (peers > most) {
                most = peers;
                worst = node;
            }
        }
        if (2 * most <= left - 1)
            break;
        culprits->node[worst] = true;
    }
    for (from = 0; from < nodes; from++)
        for (to = 0; to < nodes; to++)
            culprits->link[from * nodes + to] = bad[from * nodes + to] &&
                                                !culprits->node[from] && !culprits->node[to];
}

static int bad_peers(const struct culprits *culprits, const bool *bad, int nodes, int node)
{
    int peer, count = 0;

    for (peer = 0; peer < nodes; peer++)
        count += !culprits->node[peer] && (bad[node * nodes + peer] || bad[peer * nodes + node]);
    return count;
}

void culprits_clear(struct culprits *culprits)
{
    free(culprits->node);
    free(culprits->link);
    *culprits = (struct culprits){ 0 };
}
