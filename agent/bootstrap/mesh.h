/* mesh.h - nodes log in to each other (muster bootstrap --mesh)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_MESH_H
#define MUSTER_AGENT_MESH_H

#include "bootstrap/bootstrap.h"

#define MESH_KNOWN "/etc/ssh/ssh_known_hosts"

/* What the others need of this node, as a line {"mesh":{"key":"ssh-ed25519 ...",
 * "host_keys":["ssh-ed25519 ...", ...]}}, after a line of step "mesh": with is_apply a key pair of
 * the login is made if it has none (ssh-keygen). key is absent if there is none. -1 with err. */
int mesh_run(struct bootstrap *b, bool is_apply, struct error *err);

/* A step: the host keys of all nodes are in MESH_KNOWN. */
step_f step_mesh;

#endif
