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
/* warm.c: what a good run has read is in memory, and so off the lazy disk */
step_f step_warm, step_warm_read;
int    warm_record(struct bootstrap *b, struct error *err);
/* receipt.c: what this node is, for muster to compare */
step_f step_receipt;

#endif
