/* liveness.h - a node that is silent: suspect, then reconnected, then lost
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIVENESS_H
#define MUSTER_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/conn.h"

struct node;

/* The liveness of one node; starts as { 0 }. Only liveness.c writes it. */
struct liveness {
    int64_t  heard_ns;   /* when bytes last came; 0: never */
    uint32_t resent;     /* packets that its line had retransmitted by then */
    bool     is_suspect; /* it missed some heartbeats, and the user was warned */
};

/* Bytes have come from the node; or muster could not read for a while, which is not the node's
 * fault. */
void liveness_heard(struct liveness *liveness, int64_t now_ns);
/* Another connection has replaced the silent one: the node is heard and no longer suspect. */
void liveness_renew(struct liveness *liveness, int64_t now_ns);

/* Call it once per heartbeat (every interval_s seconds) for each node that has answered. It reports
 * that the node is suspect or heard again, makes another connection, and loses the node after
 * dead_after_s. By then its agent has ended everything there, since the agent's own lease is
 * shorter (agent/session/heartbeat.c). Returns the seconds until the node is lost; 0: it is
 * lost. */
double liveness_check(struct node *node, double dead_after_s, double interval_s, int64_t now_ns);

/* Returns how many seconds an agent waits for an answer from us before it ends its ranks
 * (lease.h). */
double liveness_agent_s(double dead_after_s);

/* Returns how many seconds a node may be silent: --dead-after, or twice that over a bad line,
 * where several losses in a row make TCP wait longer and longer. The line is bad if the node's
 * machine still acknowledges our bytes, and TCP has retransmitted packets since the node was
 * last heard (when line->resent was resent_before). line is NULL if it is not known. */
double liveness_lease_s(double dead_after_s, const struct conn_line *line, uint32_t resent_before);

#endif
