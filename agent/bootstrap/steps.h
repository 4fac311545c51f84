/* steps.h - the steps of muster bootstrap, one file each
 *
 * bootstrap.c has them in one table, in order.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STEPS_H
#define MUSTER_AGENT_STEPS_H

#include "bootstrap/bootstrap.h"

/* authorized_key.c: the launcher's public key, once, with modes that sshd accepts */
step_f step_authorized_key;
/* mesh.c: nodes log in to each other; the step: the host keys of all nodes are in
 * /etc/ssh/ssh_known_hosts. mesh_run() says what the others need of this node, as a line
 * {"mesh":{"key":"ssh-ed25519 ...", "host_keys":["ssh-ed25519 ...", ...]}}, after a line of step
 * "mesh": with is_apply a key pair of the login is made if it has none (ssh-keygen). key is absent
 * if there is none. -1 with err. */
step_f step_mesh;
int    mesh_run(struct bootstrap *b, bool is_apply, struct error *err);
/* host_name.c: the host name is that of the hostfile, also after the next boot */
step_f step_host_name;
/* hosts_block.c: /etc/hosts has every node, and this node's name is no loopback address */
step_f step_hosts_block;
/* packages.c: those of conf are installed, by apt or dnf, in one transaction */
step_f step_packages;
/* data_disk.c: the disk is found by what is on it, mounted, in fstab, and as large as it can be */
step_f step_data_disk;
/* shell_profile.c: PATH and conda for who logs in */
step_f step_shell_profile;
/* limits.c: open files, locked memory, /dev/shm, how many may log in at once */
step_f step_limits;
/* environment.c: the interpreter at its prefix, what it imports, and the versions */
step_f step_environment;
/* gpus.c: the driver is loaded and matches its library, and nobody holds a GPU */
step_f step_gpus, step_gpus_free;
/* gpu_users.c: a note for each process that has a GPU open: pid, user, for how long, command; and
 * the end (TERM, then KILL) of those of this user's earlier runs that no agent looks after */
void gpu_users_note(struct finding *finding);
void gpu_users_end_ours(struct finding *finding);
/* warm.c: what a good run has read is in memory, and so off the lazy disk */
step_f step_warm, step_warm_read;
int    warm_record(struct bootstrap *b, struct error *err);
/* --warm=swarm: say what this node could read together with others, as a line {"swarm":{"done":...,
 * "mark":"...", "port":N}}: with those that have the same mark; "": with none. Then do it: the
 * request is that of warm/swarm.h. */
int    warm_swarm_look(struct bootstrap *b, const json_t *request, struct error *err);
int    warm_swarm(struct bootstrap *b, const json_t *request, struct error *err);
/* receipt.c: what this node is, for muster to compare */
step_f step_receipt;

#endif
