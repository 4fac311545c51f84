/* swarm_round.h - --warm=swarm: nodes that have the same to read share it
 *
 * After the steps each node is asked what it could read, and those with the same answer are
 * told of each other, with a key for each direction of each pair. Nodes that are alone read
 * alone. SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SWARM_ROUND_H
#define MUSTER_SWARM_ROUND_H

#include "bootstrap/bootstrap_job.h"

#define SWARM_NODES_MAX 64 /* of one group; more make several */

struct swarm_groups;

/* With --apply there are such rounds; a plan only says so. */
bool swarm_is_wanted(const struct bootstrap *bootstrap, const struct run *run);
/* What is added to the node's request of BOOTSTRAP_ROUND_SWARM_LOOK. */
void swarm_look_request(const struct bootstrap *bootstrap, const struct run *run,
                        const struct node *node, json_t *body);
/* The same of BOOTSTRAP_ROUND_SWARM. False: it has nothing to do there. */
bool swarm_request(struct bootstrap *bootstrap, const struct run *run, const struct node *node,
                   json_t *body);
void swarm_groups_free(struct swarm_groups *groups); /* NULL is fine */

#endif
