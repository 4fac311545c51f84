/* peers.h - asks during a run whether the nodes can still reach each other
 *
 * A network may break between two nodes while muster reaches both. Then ranks wait for each
 * other without an error message. When asked, every agent listens for some seconds and connects
 * to others (unreachable_pairs.h says to which). This takes PEERS_S, while the run continues.
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

/* All fields are borrowed; the array of nodes only during peers_begin(). */
struct peers_question {
    struct node *const *node; /* the nodes whose ranks run */
    size_t              nodes;
    const char         *token;       /* token of the run, by which the agents recognize each
                                        other */
    const char         *master_addr; /* MASTER_ADDR of the ranks; NULL: none */
};

/* Ask these nodes. done is called once, from the event loop. */
struct peers *peers_begin(struct event_base *base, const struct peers_question *question,
                          void (*done)(void *arg), void *arg);
void          peers_free(struct peers *peers);

/* Handles a PROBED frame of a node. */
void peers_take(struct peers *peers, struct node *node, const json_t *body);

bool peers_are_known(const struct peers *peers);

/* Once they are known: the lines of unreachable_pairs_tell(), and which nodes did not answer.
 * Empty if there is only one node. */
const struct strlist *peers_lines(const struct peers *peers);
/* Once they are known: the result of unreachable_pairs_json(). */
json_t *peers_json(const struct peers *peers);

#endif
