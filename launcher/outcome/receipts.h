/* receipts.h - compares the receipts that muster bootstrap has left on the nodes
 *
 * Different versions (PyTorch, NCCL, the driver) make runs hang or fail far from the cause.
 * HELLO contains each node's receipt, so comparing them costs nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RECEIPTS_H
#define MUSTER_RECEIPTS_H

#include "plan/plan.h"

struct receipts {
    const struct plan    *plan;
    const json_t *const *hello; /* by node; NULL: the node has not answered */
};

/* Warns if receipts differ, or if only some nodes have one. */
void receipts_compare(const struct receipts *all);

#endif
