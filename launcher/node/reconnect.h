/* reconnect.h - the way back to an agent whose connection was lost
 *
 * The agent keeps its ranks for a while (--reconnect when it saw its stream end, else
 * --dead-after). Meanwhile we log in again, as often as it takes. What answers there is
 * a second agent: told by RECONNECT, it passes bytes on to the first one, which says
 * RESUMED, and both ends go on where the other one is (resend_queue.h).
 *
 * A node that is only silent is dialled too, beside its connection: whichever works
 * first wins. From RECONNECT to RESUMED nothing is taken from the old connection, since the
 * agent sends again what we had not got by then; but it stays open: its end, should it come
 * before RECONNECT, would tell the agent to wait for us no longer than --reconnect.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RECONNECT_H
#define MUSTER_RECONNECT_H

#include <stdbool.h>

#include "frame.h"
#include "runid.h"

struct node;
struct reconnect;

/* What PLAN tells the agent, so that it knows us again. */
struct reconnect_key {
    char socket[RUNID_MAX + 40]; /* name of its Unix socket; "": there is no way back */
    char token[FRAME_NONCE_CHARS + 1]; /* a secret */
};

/* Of node node_rank of that run. Without randomness there is no way back. */
void reconnect_key_make(struct reconnect_key *key, const char *run_id, int node_rank);

/* Begin, unless it has begun. node->ops->dial makes the connections. */
void reconnect_start(struct node *node);
/* NULL is fine. */
void reconnect_free(struct reconnect *reconnect);

/* RECONNECT is under way; NULL is fine. */
bool reconnect_has_asked(const struct reconnect *reconnect);
/* The same, or it was once, and that attempt failed: the agent may have let go of the old
 * connection, whatever still comes on it. */
bool reconnect_may_have_moved(const struct reconnect *reconnect);

/* How the last attempt ended. */
const char *reconnect_why(const struct reconnect *reconnect);
/* Does the machine answer, though the run's agent does not? */
bool reconnect_answers(const struct reconnect *reconnect);

#endif
