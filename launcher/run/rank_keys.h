/* rank_keys.h - PMI's keys and barriers of a run: a space for each world
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RANK_KEYS_H
#define MUSTER_RANK_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "err.h"

struct run;
struct node;
struct plan;

void rank_keys_open(struct run *run);
void rank_keys_close(struct run *run);
/* Empties those of a world (the plan: all of them), for its nodes. */
void rank_keys_again(struct run *run, const struct plan *world);

/* Takes a node's KVS frame; the last node of its world makes all of them get all keys. -1 with
 * err: see kvs_node_in(). */
int rank_keys_take(struct run *run, const struct node *node, const json_t *body,
                   struct error *err);

/* Do other nodes wait in a barrier for this one? */
bool rank_keys_are_late(const struct run *run, size_t node);

#endif
