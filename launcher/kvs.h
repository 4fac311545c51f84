/* kvs.h - the PMI key-value space of a run, and its barrier
 *
 * Agents send the puts of all their ranks once all of them are in the barrier;
 * when every node has, the union goes back down. One round trip however many
 * keys (PMI-1; pmi_v1.c in MPICH is the client).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KVS_H
#define MUSTER_KVS_H

#include <stddef.h>

#include <jansson.h>

#include "err.h"

struct kvs;

struct kvs *kvs_new(size_t nodes);
void        kvs_free(struct kvs *kvs);

/* A node's KVS frame. 1: that was the last one, *out is the body for every
 * node's answer (caller releases), and the next barrier begins. 0: others are
 * missing. -1: the frame is wrong (same node twice, bad key, too much). */
int kvs_node_in(struct kvs *kvs, size_t node, const json_t *body, json_t **out,
                struct error *err);

#endif
