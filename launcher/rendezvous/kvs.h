/* kvs.h - the PMI key-value space of a run, and its barrier
 *
 * An agent sends what its ranks have put once all of them are in the barrier. When every node
 * has done so, the union goes to all of them: one round trip, however many keys (PMI-1; pmi_v1.c
 * in MPICH is the client).
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
#define KVS_BYTES_MAX ((size_t)64 << 20) /* of a run: each agent has it all in memory */
#define KVS_PAIR_COST 128 /* bytes that a pair takes in memory, besides its text */

struct kvs;

struct kvs *kvs_new(size_t nodes);
void        kvs_free(struct kvs *kvs);
/* As new, for so many nodes. */
void        kvs_again(struct kvs *kvs, size_t nodes);

/* A node's KVS frame. 1: that was the last one of the last node, and the next barrier begins;
 * send every node all that kvs_take() gives. 0: other nodes are missing, or more of this one. -1
 * with err: the node is in the barrier already, PMI cannot carry a key or value, it is too much,
 * or a key was put in this barrier with another value. */
int kvs_node_in(struct kvs *kvs, size_t node, const json_t *body, struct error *err);

/* Some nodes are in the barrier and wait for others: is this one of the others? */
bool kvs_is_late(const struct kvs *kvs, size_t node);

/* The next body of the answer, in order, each small enough for a frame; caller releases. NULL:
 * that was all. */
json_t *kvs_take(struct kvs *kvs);

#endif
