/* swarm_peers.h - the other nodes of a swarm, as those that are asked for chunks
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SWARM_PEERS_H
#define MUSTER_AGENT_SWARM_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event.h>
#include <jansson.h>

#include "copy/chunk.h"
#include "copy/seal.h"
#include "err.h"

#define SWARM_CONNECT_S 20.0 /* the others may begin later than we */
#define SWARM_STALL_S 30.0   /* without a chunk: a disk may take seconds for one */

struct swarm_peers_ops {
    /* The number that a chunk of the sums has; -1: none. */
    int64_t (*number)(struct chunk chunk, void *arg);
    struct chunk (*chunk)(size_t number, void *arg);
    void (*got)(size_t number, const void *bytes, size_t size, void *arg);
    void (*missing)(size_t number, void *arg); /* it will not come */
};

struct swarm_peer;

struct swarm_peers {
    struct event_base            *base;
    const struct swarm_peers_ops *ops;
    void                         *arg;
    struct swarm_peer            *peer;
    size_t                        count;
    int                           lost;
    char                          why[128]; /* of one that was lost */
};

/* "peers" of the request (swarm.h): whom to ask. -1 with err. */
int  swarm_peers_read(struct swarm_peers *peers, const json_t *list, const unsigned char *run,
                      struct error *err);
void swarm_peers_clear(struct swarm_peers *peers);

/* The node of that number has this chunk; false: there is no such node. */
bool swarm_peers_want(struct swarm_peers *peers, int node, size_t chunk);
/* Connect. The ops are not called before this returns. */
void swarm_peers_begin(struct swarm_peers *peers);
/* To be called now and then. True: nothing more will come. */
bool swarm_peers_tick(struct swarm_peers *peers);

#endif
