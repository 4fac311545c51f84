/* swarm_round.h - --warm=swarm: nodes that read the same files share the work
 *
 * After the steps muster asks each node which files it could read. Nodes with the same answer
 * get each other's addresses, and a key for each direction of each pair. A node that shares its
 * answer with no other reads alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SWARM_ROUND_H
#define MUSTER_SWARM_ROUND_H

#include "bootstrap/bootstrap_job.h"

#define SWARM_NODES_MAX 64 /* per group; more nodes form several groups */

struct swarm_groups;

/* Do nodes read together? With --apply there are two more rounds; a plan only mentions it. */
bool swarm_is_wanted(const struct bootstrap *bootstrap, const struct run *run);
/* Adds to body what the node's request of BOOTSTRAP_ROUND_SWARM_LOOK needs. */
void swarm_look_request(const struct bootstrap *bootstrap, const struct run *run,
                        const struct node *node, json_t *body);
/* The same for BOOTSTRAP_ROUND_SWARM. False: the node has nothing to do in this round. */
bool swarm_request(struct bootstrap *bootstrap, const struct run *run, const struct node *node,
                   json_t *body);
void swarm_groups_free(struct swarm_groups *groups); /* NULL is fine */

#endif
