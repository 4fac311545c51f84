/* receipts.h - what muster bootstrap has left on the nodes, compared
 *
 * Versions that differ (PyTorch, NCCL, the driver) make runs hang or fail far from the cause. HELLO
 * brings each node's receipt along, so comparing them costs nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RECEIPTS_H
#define MUSTER_RECEIPTS_H

#include "plan/plan.h"

struct receipts {
    const struct plan    *plan;
    const json_t *const *hello; /* of each node; NULL: it has not answered */
};

/* Warn if receipts differ, or if only some nodes have one. */
void receipts_compare(const struct receipts *all);

#endif
