/* liveness.h - a node that is not heard: suspect, dialled again, dead
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIVENESS_H
#define MUSTER_LIVENESS_H

#include <stdint.h>

#include "transport/conn.h"

struct node;

/* Once a heartbeat (every beat_s seconds), for each node that has answered: say that it is
 * suspect, or heard again; make another connection; give it up after dead_after_s. */
void liveness_check(struct node *node, double dead_after_s, double beat_s, int64_t now_ns);

/* For how long a node may be silent, in seconds: --dead-after, or twice that over a bad
 * line, on which losses in a row make TCP pause longer and longer: its machine still
 * acknowledges what we send, and packets had to be sent again since it was last heard
 * (line->resent was resent_before then). line is NULL when nobody can tell. */
double liveness_lease_s(double dead_after_s, const struct conn_line *line, uint32_t resent_before);

#endif
