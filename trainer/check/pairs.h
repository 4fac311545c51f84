/* pairs.h - measures bandwidth and latency between each pair of nodes
 *
 * The first rank of each node measures, and the other ranks wait. The pairs of a round measure
 * at the same time. Pairs that seem slow are measured again while all others pause, to
 * distinguish a busy switch from a bad link.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PAIRS_H
#define MUSTER_PAIRS_H

#include <stdbool.h>

#include "check/nodes/matrix.h"
#include "check/roster.h"
#include "comm/comm.h"

struct pairs_limits {
    size_t bytes_max; /* of a message */
    double seconds;   /* messages grow until one takes this time */
};

/* All ranks call this and get the same matrix. -1 if the communicator fails; *is_ours: this
 * rank was measuring then, and not only waiting for the ranks that were. */
int pairs_measure(struct matrix *matrix, struct comm *comm, const struct roster *roster,
                  const struct pairs_limits *limits, bool *is_ours, struct error *err);

#endif
