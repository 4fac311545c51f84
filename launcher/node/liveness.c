/* liveness.c - see liveness.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/liveness.h"

#include <stdio.h>

#include "clock.h"
#include "lease.h"
#include "log.h"
#include "node/node.h"

/* The part of --dead-after that passes before muster makes another connection beside the silent
 * one. It is short: over a bad line, connecting may take most of the rest. */
#define RECONNECT_PART  (1.0 / 3)
#define BAD_LINE_LEASES 2

static double lease_of(struct node *node, double dead_after_s, bool is_heard);
static void   give_up(struct node *node, double silent_s);
static void   suspect(struct node *node, double silent_s, bool is_silent);

void liveness_heard(struct liveness *liveness, int64_t now_ns)
{
    liveness->heard_ns = now_ns;
}

void liveness_renew(struct liveness *liveness, int64_t now_ns)
{
    liveness->heard_ns = now_ns;
    liveness->is_suspect = false;
}

double liveness_check(struct node *node, double dead_after_s, double interval_s, int64_t now_ns)
{
    double silent_s = (double)(now_ns - node->liveness.heard_ns) / NS_PER_S;
    double left_s = lease_of(node, dead_after_s, silent_s < 2 * interval_s) - silent_s;

    if (left_s <= 0) {
        give_up(node, silent_s);
        return 0;
    }
    if (reconnect_is_cut(node->reconnect))
        return left_s; /* the user was warned, and reconnect.c is trying */
    if (silent_s >= dead_after_s * RECONNECT_PART && silent_s >= 2 * interval_s)
        reconnect_beside(node->reconnect);
    suspect(node, silent_s, silent_s >= 3 * interval_s);
    return left_s;
}

/* While the node is heard, it notes how many packets the line has lost so far. */
static double lease_of(struct node *node, double dead_after_s, bool is_heard)
{
    struct conn_line line;

    if (node->conn == NULL || !conn_line(node->conn, &line))
        return liveness_lease_s(dead_after_s, NULL, 0);
    if (is_heard)
        node->liveness.resent = line.resent;
    return liveness_lease_s(dead_after_s, &line, node->liveness.resent);
}

/* Half of --dead-after is several of our heartbeats, each of which TCP resends until it is
 * acknowledged. A machine that is off, or cut off, acknowledges none. */
double liveness_lease_s(double dead_after_s, const struct conn_line *line, uint32_t resent_before)
{
    if (line != NULL && line->resent != resent_before && line->acked_s < dead_after_s / 2)
        return dead_after_s * BAD_LINE_LEASES;
    return dead_after_s;
}

double liveness_agent_s(double dead_after_s)
{
    return dead_after_s - lease_term_s(dead_after_s);
}

static void give_up(struct node *node, double silent_s)
{
    char why[64];

    snprintf(why, sizeof why, "nothing heard for %.0f s", silent_s);
    node_lose(node, node->state < NODE_RUNNING ? node_state_name(node) : "running",
              node->state < NODE_RUNNING ? "is the node overloaded, or the network down?"
                                         : "is the network or the machine down?", why);
}

static void suspect(struct node *node, double silent_s, bool is_silent)
{
    struct liveness *liveness = &node->liveness;

    if (is_silent && !liveness->is_suspect)
        log_warn("%s: suspect: nothing heard for %.0f s", node->plan->host, silent_s);
    else if (!is_silent && liveness->is_suspect)
        log_warn("%s: heard again", node->plan->host);
    liveness->is_suspect = is_silent;
}
