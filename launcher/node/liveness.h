/* liveness.h - a node that is not heard: suspect, then dialled again, then lost
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIVENESS_H
#define MUSTER_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/conn.h"

struct node;

/* What is known of one node; start from { 0 }. Only liveness.c writes it. */
struct liveness {
    int64_t  heard_ns;   /* when bytes last came; 0: never */
    uint32_t resent;     /* packets that its line had sent again by then */
    bool     is_suspect; /* it missed some heartbeats, and the user was told */
};

/* Bytes have come from the node; or nothing could be read for a while, and it is not the
 * node's fault. */
void liveness_heard(struct liveness *liveness, int64_t now_ns);
/* Another connection took the place of the silent one: heard, and no longer suspect. */
void liveness_renew(struct liveness *liveness, int64_t now_ns);

/* Once a heartbeat (every beat_s seconds), for each node that has answered: say that it is
 * suspect, or heard again; make another connection; lose it after dead_after_s, when its agent
 * has ended everything there (its own lease ends before: agent/session/heartbeat.c). Returns
 * the seconds until then; 0: it is lost. */
double liveness_check(struct node *node, double dead_after_s, double beat_s, int64_t now_ns);

/* After how many seconds without an answer from us an agent ends its ranks (lease.h). */
double liveness_agent_s(double dead_after_s);

/* How many seconds a node may be silent: --dead-after, or twice that over a bad line, where
 * several losses in a row make TCP wait longer and longer. The line is bad if the node's
 * machine still acknowledges what we send, and packets had to be sent again since the node
 * was last heard (line->resent was resent_before then). line is NULL if nobody can tell. */
double liveness_lease_s(double dead_after_s, const struct conn_line *line, uint32_t resent_before);

#endif
