/* kvs.h - the PMI key-value space of a run, and its barrier
 *
 * An agent sends the pairs that its ranks have put once all of its ranks are in the barrier.
 * When every agent has done so, the union goes to all of them: one round trip for any number of
 * keys (PMI-1; pmi_v1.c in MPICH is the client).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KVS_H
#define MUSTER_KVS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "err.h"

#define KVS_KEY_MAX   64
#define KVS_VALUE_MAX 1024
#define KVS_BYTES_MAX ((size_t)64 << 20) /* per run: each agent keeps all of it in memory */
#define KVS_PAIR_COST 128 /* bytes that a pair takes in memory, besides its text */

struct kvs;

struct kvs *kvs_new(size_t nodes);
void        kvs_free(struct kvs *kvs);
/* Empties it, for this many nodes. */
void        kvs_again(struct kvs *kvs, size_t nodes);

/* Takes a node's KVS frame. 1: it was the last frame of the last node, and the next barrier
 * begins; send every node all bodies that kvs_take() returns. 0: frames of this node or of
 * other nodes are missing. -1 with err: the node is already in the barrier, PMI cannot carry a
 * key or value, the run has put too many bytes, or a key was put in this barrier with another
 * value. */
int kvs_node_in(struct kvs *kvs, size_t node, const json_t *body, struct error *err);

/* Do nodes in the barrier wait for this one? */
bool kvs_is_late(const struct kvs *kvs, size_t node);

/* Returns the next body of the answer, in order and small enough for a frame; caller releases.
 * NULL: there are no more. */
json_t *kvs_take(struct kvs *kvs);

#endif
