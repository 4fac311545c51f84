/* reconnect.h - reconnects to an agent whose connection was lost
 *
 * The agent keeps its ranks for a while: for --reconnect if it saw its stream end, else for
 * --dead-after. During this time muster logs in again, as often as necessary. Each login starts
 * a second agent. When the second agent receives RECONNECT, it relays bytes to the first one,
 * which says RESUMED. Each end then continues after the last byte that the other one has
 * received (resend_queue.h).
 *
 * If a node is only silent, muster makes another connection beside the old one, and the first
 * of the two that works wins. Between RECONNECT and RESUMED muster reads nothing from the old
 * connection, since the agent resends the bytes that we had not received by then. But the old
 * connection stays open: if it ended before RECONNECT, the agent would wait for us only for
 * --reconnect.
 *
 * A node has one struct reconnect from node_init() to node_clear(). Only reconnect.c writes it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RECONNECT_H
#define MUSTER_RECONNECT_H

#include <stdbool.h>

#include "frame.h"
#include "runid.h"
#include "transport/conn.h"

struct node;
struct reconnect;

/* The part of PLAN by which the agent recognizes us when we reconnect. */
struct reconnect_key {
    char socket[RUNID_MAX + 40];       /* name of the agent's Unix socket; "": we cannot
                                          reconnect */
    char token[FRAME_NONCE_CHARS + 1]; /* a secret */
};

struct reconnect *reconnect_new(struct node *node);
void              reconnect_free(struct reconnect *reconnect); /* NULL is fine */

/* Makes the key of node node_rank of that run. Without random numbers we cannot reconnect. */
void reconnect_make_key(struct reconnect *reconnect, const char *run_id, int node_rank);
const struct reconnect_key *reconnect_key(const struct reconnect *reconnect);

/* The node is silent: make another connection beside its present one, unless this has begun or
 * is impossible. node->ops->dial makes the connections. */
void reconnect_beside(struct reconnect *reconnect);
/* The node's connection has ended, because of why. True: the agent may be reachable, and the
 * attempts have begun. */
bool reconnect_instead(struct reconnect *reconnect, const struct conn_failure *why);
/* End the attempts, if there are any. */
void reconnect_stop(struct reconnect *reconnect);

/* Was the connection lost, and not yet replaced? */
bool reconnect_is_cut(const struct reconnect *reconnect);
/* Has this attempt sent RECONNECT, with no answer so far? */
bool reconnect_has_asked(const struct reconnect *reconnect);
/* Has any attempt sent RECONNECT? Then the agent may have left the old connection, even if
 * bytes still come on it. */
bool reconnect_may_have_moved(const struct reconnect *reconnect);
/* False: attempts are being made, and the last one did not reach the machine. */
bool reconnect_answers(const struct reconnect *reconnect);

/* Why the connection was lost, and how the last attempt failed; valid until the next
 * attempt. */
const char *reconnect_cut_why(const struct reconnect *reconnect);
const char *reconnect_why(const struct reconnect *reconnect);

#endif
