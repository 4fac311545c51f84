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
/* mesh.c: nodes can log in to each other. The step: the host keys of all nodes are in
 * /etc/ssh/ssh_known_hosts. mesh_run() prints what the other nodes need from this one, as a
 * line {"mesh":{"key":"ssh-ed25519 ...", "host_keys":["ssh-ed25519 ...", ...]}}, after a line
 * of step "mesh". With is_apply it makes a key pair for the user if there is none (ssh-keygen).
 * key is absent if there is none. -1 with err. */
step_f step_mesh;
int    mesh_run(struct bootstrap *b, bool is_apply, struct error *err);
/* host_name.c: the host name is the one in the hostfile, also after the next boot */
step_f step_host_name;
/* hosts_block.c: /etc/hosts has every node, and this node's name is not a loopback address */
step_f step_hosts_block;
/* packages.c: the packages of conf are installed, by apt or dnf, in one transaction */
step_f step_packages;
/* nvidia_driver.c: the NVIDIA driver is installed, by packages of the distribution, and loaded.
 * Before it, apt knows these packages: the step can only choose then. */
step_f step_driver_lists, step_driver;
/* data_disk.c: the disk is found by its contents, mounted, in fstab,
 * and as large as it can be */
step_f step_data_disk;
/* user.c: the user of conf exists, and who has the key can log in; perhaps with sudo */
step_f step_user;
/* shell_profile.c: PATH and conda for logins */
step_f step_shell_profile;
/* limits.c: open files, locked memory, /dev/shm, number of simultaneous logins */
step_f step_limits;
/* python_env.c: an environment with the packages of a file that the launcher has sent */
step_f step_python, step_conda;
/* project.c: a checkout of git, at the commit that conf wants */
step_f step_project;
/* pushed_project.c: the same of a directory that the launcher copies; records its files, and asks
 * for them */
step_f pushed_project_look, pushed_project_record;
/* environment.c: the interpreter at its prefix, its imports, and the versions */
step_f step_environment;
/* gpus.c: the driver is loaded and matches its library, and no process has a GPU open */
step_f step_gpus, step_gpus_free;
/* gpu_users.c: adds a note for each process that has a GPU open: pid, user, for
 * how long, command; and kills (TERM, then KILL) those of this user's earlier runs
 * that no agent looks after */
void gpu_users_note(struct finding *finding);
void gpu_users_end_ours(struct finding *finding);
/* warm.c: the files that a good run has read are in memory, so the lazy
 * disk has fetched them */
step_f step_warm, step_warm_read;
int    warm_record(struct bootstrap *b, struct error *err);
/* --warm=swarm: prints what this node could read together with others, as a line
 * {"swarm":{"done":..., "mark":"...", "port":N}}: with nodes that have the same mark; "": with
 * none. Then warm_swarm() reads it: the request is that of warm/swarm.h. */
int    warm_swarm_look(struct bootstrap *b, const json_t *request, struct error *err);
int    warm_swarm(struct bootstrap *b, const json_t *request, struct error *err);
/* receipt.c: facts about this node, for muster to compare */
step_f step_receipt;

#endif
