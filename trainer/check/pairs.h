/* pairs.h - bandwidth and latency between each two nodes, measured
 *
 * The first rank of each node measures, the others wait. Pairs of a round measure at the same
 * time; those that seem slow are measured once more while all others pause, so that a busy
 * switch can be told from a bad link.
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
    double seconds;   /* messages grow until one takes this long */
};

/* Fill matrix, the same on all ranks, which all call this. -1 when the communicator failed;
 * *is_ours: this rank was measuring then, and did not just wait for those who were. */
int pairs_measure(struct matrix *matrix, struct comm *comm, const struct roster *roster,
                  const struct pairs_limits *limits, bool *is_ours, struct error *err);

#endif
