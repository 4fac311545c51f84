/* peers.h - can the nodes still reach each other, in the middle of a run?
 *
 * A network may break between two nodes while muster reaches both. Then ranks wait for each
 * other without a message. When asked, every agent listens for some seconds and connects to
 * others (unreachable_pairs.h says to which). The run continues meanwhile, and it takes PEERS_S.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PEERS_H
#define MUSTER_PEERS_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/event.h>
#include <jansson.h>

#include "node/node.h"
#include "strlist.h"

#define PEERS_S 5.0

struct peers;

/* All is borrowed; the list of the nodes only during peers_begin(). */
struct peers_question {
    struct node *const *node; /* those whose ranks run */
    size_t              nodes;
    const char         *token;       /* of the run, by which they know each other */
    const char         *master_addr; /* of the ranks; NULL: none */
};

/* Ask these nodes. done comes once, from the event loop. */
struct peers *peers_begin(struct event_base *base, const struct peers_question *question,
                          void (*done)(void *arg), void *arg);
void          peers_free(struct peers *peers);

/* PROBED has come from a node. */
void peers_take(struct peers *peers, struct node *node, const json_t *body);

bool peers_are_known(const struct peers *peers);

/* Then: what unreachable_pairs_tell() says, and which nodes did not answer. Nothing if there is a
 * single node. */
const struct strlist *peers_lines(const struct peers *peers);
/* Then: unreachable_pairs_json(). */
json_t *peers_json(const struct peers *peers);

#endif
