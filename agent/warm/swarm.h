/* swarm.h - the disks of all nodes together: each reads a part, and they exchange the parts
 *
 * Each node has the same list and the same sums (warm_sums.h). Chunks are dealt out in the
 * order of the list, some at a time. A node reads its own from its disk, serves them to the
 * others over sealed streams (copy/bcast_stream.h), asks the others for theirs, and puts what
 * comes into memory (swarm_file.h). What does not come, or cannot be put there, it reads
 * itself. So a node that fails makes the others slower, and nothing worse.
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

/* How far it is, or how it ended. */
struct swarm_counts {
    int64_t read, received, failed; /* bytes of this disk, of other nodes; parts of this disk */
    int64_t total;                  /* bytes in all; 0: not known yet */
    int     peers, lost;            /* other nodes, and those that did not give all of theirs */
    char    why[128];               /* of one of them */
};

struct swarm_ops {
    void (*tell)(const struct swarm_counts *counts, void *arg); /* once a second */
};

/* A port that is free on this address; -1: there is no such address here. */
int swarm_port(const char *address);

/* Do all of it. request is of the launcher:
 *
 *     {"number":0, "count":4, "address":"10.0.0.1", "port":40000, "run":HEX,
 *      "peers":[{"number":1, "name":"te2", "address":"10.0.0.2", "port":40001,
 *                "addresses":["10.0.0.2", ...], "ask":HEX, "answer":HEX}, ...]}
 *
 * ask is the key of the link over which this node asks that one, answer of the other. Without
 * peers everything is read from the disk. -1 with err if the request is malformed. */
int swarm_run(const json_t *request, const struct warm_list *list, const struct warm_sums *sums,
              int streams, const struct swarm_ops *ops, void *arg, struct swarm_counts *counts,
              struct error *err);

#endif
