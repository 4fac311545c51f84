/* rank_keys.c - see rank_keys.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/rank_keys.h"

#include <stdlib.h>

#include "frame.h"
#include "rendezvous/kvs.h"
#include "run/run.h"
#include "xalloc.h"

static size_t nodes_of(const struct run *run, size_t world);
static void   answer(struct run *run, const struct plan *world, struct kvs *kvs);

void rank_keys_open(struct run *run)
{
    size_t i;

    run->keys = xcalloc(plan_worlds(run->plan), sizeof(struct kvs *));
    for (i = 0; i < plan_worlds(run->plan); i++)
        run->keys[i] = kvs_new(nodes_of(run, i));
}

void rank_keys_close(struct run *run)
{
    size_t i;

    for (i = 0; run->keys != NULL && i < plan_worlds(run->plan); i++)
        kvs_free(run->keys[i]);
    free(run->keys);
    run->keys = NULL;
}

void rank_keys_again(struct run *run, const struct plan *world)
{
    size_t i;

    for (i = 0; i < plan_worlds(run->plan); i++)
        if (world == run->plan || world == &run->plan->role[i])
            kvs_again(run->keys[i], nodes_of(run, i));
}

static size_t nodes_of(const struct run *run, size_t world)
{
    return plan_world_at(run->plan, world)->nodes;
}

int rank_keys_take(struct run *run, const struct node *node, const json_t *body,
                   struct error *err)
{
    const struct plan *world = plan_world(run->plan, node->index);
    struct kvs        *kvs = run->keys[node->plan->role];
    int                rc = kvs_node_in(kvs, node->index - world->first_node, body, err);

    if (rc > 0)
        answer(run, world, kvs);
    return rc < 0 ? -1 : 0;
}

/* The last node has reached the barrier: sends all keys to every node. */
static void answer(struct run *run, const struct plan *world, struct kvs *kvs)
{
    json_t *part;
    size_t  i;

    while ((part = kvs_take(kvs)) != NULL) {
        for (i = world->first_node; i < world->first_node + world->nodes; i++)
            if (node_takes_frames(run->node[i]))
                node_send(run->node[i], FRAME_KVS, json_incref(part));
        json_decref(part);
    }
}

bool rank_keys_are_late(const struct run *run, size_t node)
{
    const struct plan *world = plan_world(run->plan, node);

    return kvs_is_late(run->keys[run->plan->node[node].role], node - world->first_node);
}
