/* swarm.h - warms the disks of all nodes together: each reads a part, and
 * they exchange the parts
 *
 * Each node has the same list and the same sums (warm_sums.h). Chunks are assigned in the
 * order of the list, a few at a time. A node reads its own chunks from its disk, serves
 * them to the other nodes over sealed streams (copy/bcast_stream.h), requests the others'
 * chunks from them, and puts these into memory (swarm_file.h). If a chunk does not arrive,
 * or cannot be put there, the node reads it from its own disk. So a node that fails only
 * makes the others slower.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SWARM_H
#define MUSTER_AGENT_SWARM_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "err.h"
#include "warm/warm_list.h"
#include "warm/warm_sums.h"

/* Progress, and the final result. */
struct swarm_counts {
    int64_t read, received, failed; /* bytes of this disk, of other nodes; parts of this disk */
    int64_t total;                  /* bytes in all; 0: not yet known */
    int     peers, lost;            /* other nodes; those that did not send all */
    char    why[128];               /* why one of them was lost */
};

struct swarm_ops {
    void (*tell)(const struct swarm_counts *counts, void *arg); /* once a second */
};

/* Returns a port that is free on this address; -1: this machine lacks the address. */
int swarm_port(const char *address);

/* Runs a swarm to its end. request comes from the launcher:
 *
 *     {"number":0, "count":4, "address":"10.0.0.1", "port":40000, "run":HEX,
 *      "peers":[{"number":1, "name":"te2", "address":"10.0.0.2", "port":40001,
 *                "addresses":["10.0.0.2", ...], "ask_link":1, "ask":HEX, "answer_link":2,
 *                "answer":HEX}, ...]}
 *
 * ask is the key of the link ask_link, over which this node asks that peer; answer and
 * answer_link are those of the opposite link. Without peers everything is read from the disk.
 * -1 with err if the request is malformed. */
int swarm_run(const json_t *request, const struct warm_list *list, const struct warm_sums *sums,
              int streams, const struct swarm_ops *ops, void *arg, struct swarm_counts *counts,
              struct error *err);

#endif
