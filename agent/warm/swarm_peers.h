/* swarm_peers.h - requests chunks from the other nodes of a swarm
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

#define SWARM_CONNECT_S 20.0 /* to connect: the others may begin later */
#define SWARM_STALL_S 30.0   /* without a chunk: a disk may take seconds for one */

struct swarm_peers_ops {
    /* Returns the number of a chunk in the sums; -1: none. */
    int64_t (*number)(struct chunk chunk, void *arg);
    struct chunk (*chunk)(size_t number, void *arg);
    void (*got)(size_t number, const void *bytes, size_t size, void *arg);
    void (*missing)(size_t number, void *arg); /* it will not arrive */
};

struct swarm_peer;

struct swarm_peers {
    struct event_base            *base;
    const struct swarm_peers_ops *ops;
    void                         *arg;
    struct swarm_peer            *peer;
    size_t                        count;
    int                           lost;
    char                          why[128]; /* why one of the lost peers was lost */
};

/* Reads "peers" of the request (swarm.h). -1 with err. */
int  swarm_peers_read(struct swarm_peers *peers, const json_t *list, const unsigned char *run,
                      struct error *err);
void swarm_peers_clear(struct swarm_peers *peers);

/* The node of that number has this chunk: asks it later. False: the number is wrong. */
bool swarm_peers_want(struct swarm_peers *peers, int node, size_t chunk);
/* Connects. Does not call the ops before it returns. */
void swarm_peers_begin(struct swarm_peers *peers);
/* Call it regularly. True: nothing more will arrive. */
bool swarm_peers_tick(struct swarm_peers *peers);

#endif
