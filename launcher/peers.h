/* peers.h - which nodes do not reach each other, in the middle of a run
 *
 * A network may break between two nodes while muster reaches both, and then ranks wait
 * for each other in silence. Asked for, every agent listens for some seconds and calls
 * the others; in runs of more than PEERS_ALL nodes only its neighbours, in a ring, and
 * the first node. The run goes on meanwhile, and PEERS_S later all is over.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PEERS_H
#define MUSTER_PEERS_H

#include <stdbool.h>

#include <jansson.h>

#include "node.h"
#include "strlist.h"

#define PEERS_ALL 16
#define PEERS_S   5.0

struct run;
struct peers;

/* Ask the nodes whose ranks run. done comes once, from the event loop. */
struct peers *peers_begin(struct run *run, void (*done)(void *arg), void *arg);
void          peers_free(struct peers *peers);

/* PROBED has come from a node. */
void peers_take(struct peers *peers, struct node *node, const json_t *body);

bool peers_are_known(const struct peers *peers);

/* Then: for people, "te1 and te2 do not reach each other (10.0.0.1 -> 10.0.0.2: timed
 * out)", or one line that all is well. */
const struct strlist *peers_lines(const struct peers *peers);

/* For programs: [{"from", "to", "from_addr", "to_addr", "why"}, ...]. Borrowed. */
json_t *peers_json(const struct peers *peers);

#endif
