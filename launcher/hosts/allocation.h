/* allocation.h - the hosts that a batch system has allocated to our job
 *
 * Slurm names them in SLURM_JOB_NODELIST, PBS in the file PBS_NODEFILE. A host has as many
 * slots as CUDA_VISIBLE_DEVICES has GPUs, and these; otherwise as many as Slurm reports GPUs;
 * otherwise as many as tasks, unless each host has one task; otherwise as many as this machine has
 * GPUs; otherwise one.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ALLOCATION_H
#define MUSTER_ALLOCATION_H

#include "plan/hostfile.h"

/* Returns 1 with the hosts and, in *words, a description ("Slurm job 7: te[1-4], 8 slots each
 * (SLURM_...)"), which the caller frees; 0 if we are in no job; -1 with err. here:
 * environment. */
int allocation_hosts(char *const *here, struct hostlist *hosts, char **words, struct error *err);

#endif
