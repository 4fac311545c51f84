/* peers.h - do the nodes still reach each other, in the middle of a run?
 *
 * A network may break between two nodes while muster reaches both, and then ranks wait
 * for each other in silence. Asked for, every agent listens for some seconds and calls
 * others (pair.h says whom). The run goes on meanwhile, and PEERS_S later all is over.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PEERS_H
#define MUSTER_PEERS_H

#include <stdbool.h>

#include <jansson.h>

#include "node/node.h"
#include "strlist.h"

#define PEERS_S 5.0

struct run;
struct peers;

/* Ask the nodes whose ranks run. done comes once, from the event loop. */
struct peers *peers_begin(struct run *run, void (*done)(void *arg), void *arg);
void          peers_free(struct peers *peers);

/* PROBED has come from a node. */
void peers_take(struct peers *peers, struct node *node, const json_t *body);

bool peers_are_known(const struct peers *peers);

/* Then: what unreachable_pairs_tell() says, and those who did not answer. Nothing of a single node. */
const struct strlist *peers_lines(const struct peers *peers);
/* Then: unreachable_pairs_json(). */
json_t *peers_json(const struct peers *peers);

#endif
