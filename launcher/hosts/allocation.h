/* allocation.h - the hosts that a batch system has allocated to our job
 *
 * A host has as many slots as CUDA_VISIBLE_DEVICES has GPUs, and these; otherwise as many as the
 * batch system reports GPUs; otherwise as many as tasks or cores, but not more than this machine
 * has GPUs, if it has any; and if the job has asked for neither, as many as this machine has GPUs,
 * or one.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ALLOCATION_H
#define MUSTER_ALLOCATION_H

#include "options/options.h"
#include "plan/hostfile.h"

/* Returns 1 with the hosts and, in *words, a description ("Slurm job 7: te[1-4], 8 slots each
 * (SLURM_...)"), which the caller frees; 0 if we are in no job; -1 with err. here:
 * environment. */
int allocation_hosts(const struct options *options, char *const *here, struct hostlist *hosts,
                     char **words, struct error *err);

#endif
