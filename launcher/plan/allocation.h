/* allocation.h - the hosts that a batch system has given to the job that we are in
 *
 * Slurm names them in SLURM_JOB_NODELIST, PBS in the file PBS_NODEFILE. The slots of a host are its
 * GPUs, as far as Slurm tells them; else its tasks, if the job asked for more than one each; else
 * as many as this machine has GPUs; else one.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ALLOCATION_H
#define MUSTER_ALLOCATION_H

#include "plan/hostfile.h"

/* 1: hosts has them, and *words says so: "Slurm job 7: te[1-4], 8 slots each (SLURM_...)", caller
 * frees. 0: we are in no job. -1 with err. here: environment. */
int allocation_hosts(char *const *here, struct hostlist *hosts, char **words, struct error *err);

#endif
