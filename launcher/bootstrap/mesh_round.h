/* mesh_round.h - --mesh: what nodes have to know of each other to log in to each other
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MESH_ROUND_H
#define MUSTER_MESH_ROUND_H

#include "bootstrap/bootstrap_job.h"

/* The request of BOOTSTRAP_ROUND_MESH; without --mesh one that is answered at once. */
json_t *mesh_request(const struct run *run, const struct node *node);

/* From the answers: the nodes' keys to access.keys of conf, and lines for ssh_known_hosts to
 * access.known. bootstrap->hosts is known by now. */
void mesh_gather(struct bootstrap *bootstrap, const struct run *run);

#endif
