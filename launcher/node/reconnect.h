/* reconnect.h - the way back to an agent whose connection was lost
 *
 * The agent keeps its ranks for a while (--reconnect when it saw its stream end, else
 * --dead-after). Meanwhile we log in again, as often as it takes. What answers there is
 * a second agent: told by ATTACH, it passes bytes on to the first one, which says
 * RESUMED, and both ends go on where the other one is (replay.h).
 *
 * A node that is only silent is dialled too, beside its connection: whichever works
 * first wins. From ATTACH to RESUMED nothing is taken from the old connection, since the
 * agent sends again what we had not got by then; but it stays open: its end, should it come
 * before ATTACH, would tell the agent to wait for us no longer than --reconnect.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RECONNECT_H
#define MUSTER_RECONNECT_H

#include <stdbool.h>

#include "frame.h"
#include "runid.h"

struct node;
struct redial;

/* What PLAN tells the agent, so that it knows us again. */
struct redial_key {
    char door[RUNID_MAX + 40]; /* name of its Unix socket; "": there is no way back */
    char token[FRAME_NONCE_CHARS + 1]; /* a secret */
};

/* Of node node_rank of that run. Without randomness there is no way back. */
void redial_key_make(struct redial_key *key, const char *run_id, int node_rank);

/* Begin, unless it has begun. node->ops->dial makes the connections. */
void redial_start(struct node *node);
/* NULL is fine. */
void redial_free(struct redial *redial);

/* ATTACH is under way; NULL is fine. */
bool redial_has_asked(const struct redial *redial);
/* The same, or it was once, and that attempt failed: the agent may have let go of the old
 * connection, whatever still comes on it. */
bool redial_may_have_moved(const struct redial *redial);

/* How the last attempt ended. */
const char *redial_why(const struct redial *redial);
/* Does the machine answer, though the run's agent does not? */
bool redial_answers(const struct redial *redial);

#endif
