/* mesh_round.h - --mesh: exchanges the keys that nodes need to log in to each other
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MESH_ROUND_H
#define MUSTER_MESH_ROUND_H

#include "bootstrap/bootstrap_job.h"

/* Returns the request of BOOTSTRAP_ROUND_MESH; without --mesh, one that the node answers at
 * once. */
json_t *mesh_request(const struct run *run, const struct node *node);

/* Takes the answers: adds the nodes' keys to access.keys of conf, and lines for ssh_known_hosts
 * to access.known. Needs bootstrap->hosts. */
void mesh_gather(struct bootstrap *bootstrap, const struct run *run);

#endif
