/* reconnect.h - the way back to an agent whose connection was lost
 *
 * The agent keeps its ranks for a while: for --reconnect if it saw its stream end, else for
 * --dead-after. Meanwhile muster logs in again, as often as it takes. What answers there is a
 * second agent. Told by RECONNECT, it passes bytes on to the first one, which says RESUMED, and
 * both ends continue where the other one is (resend_queue.h).
 *
 * A node that is only silent is dialled too, beside its connection: whichever works first wins.
 * Between RECONNECT and RESUMED nothing is taken from the old connection, since the agent sends
 * again what we had not received by then. But the old connection stays open: if it ended before
 * RECONNECT, the agent would wait for us no longer than --reconnect.
 *
 * A node has one of these from node_init() to node_clear(). Only reconnect.c writes it.
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

/* What PLAN tells the agent, so that it knows us again. */
struct reconnect_key {
    char socket[RUNID_MAX + 40];       /* name of the agent's Unix socket; "": no way back */
    char token[FRAME_NONCE_CHARS + 1]; /* a secret */
};

struct reconnect *reconnect_new(struct node *node);
void              reconnect_free(struct reconnect *reconnect); /* NULL is fine */

/* Make the key of node node_rank of that run. Without random numbers there is no way back. */
void reconnect_make_key(struct reconnect *reconnect, const char *run_id, int node_rank);
const struct reconnect_key *reconnect_key(const struct reconnect *reconnect);

/* The node is silent: make another connection beside the one there is, unless that has begun
 * or cannot be. node->ops->dial makes the connections. */
void reconnect_beside(struct reconnect *reconnect);
/* The node's connection has ended, for that reason. True: the agent may be reached again, and
 * the attempts have begun. */
bool reconnect_instead(struct reconnect *reconnect, const struct conn_failure *why);
/* End the attempts, if there are any. */
void reconnect_stop(struct reconnect *reconnect);

/* The connection was lost, and there is no other one yet. */
bool reconnect_is_cut(const struct reconnect *reconnect);
/* RECONNECT is under way. */
bool reconnect_has_asked(const struct reconnect *reconnect);
/* RECONNECT is or was under way: the agent may have left the old connection, whatever still
 * comes on it. */
bool reconnect_may_have_moved(const struct reconnect *reconnect);
/* False: attempts are under way, and the last one did not even reach the machine. */
bool reconnect_answers(const struct reconnect *reconnect);

/* Why the connection was lost, and how the last attempt ended; valid until the next one. */
const char *reconnect_cut_why(const struct reconnect *reconnect);
const char *reconnect_why(const struct reconnect *reconnect);

#endif
