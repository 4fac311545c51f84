/* local_hosts.h - the hosts of a run without a hostfile: this machine alone
 *
 * As in DeepSpeed, a missing hostfile means all GPUs of this machine, or those
 * that CUDA_VISIBLE_DEVICES names (runner.py:446-477). --num_gpus and -np take the first of these;
 * DeepSpeed's --num_gpus takes the machine's first GPUs, whatever the variable says. Without a GPU
 * there is one slot, or as many as -np or --num_gpus ask for.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LOCAL_HOSTS_H
#define MUSTER_LOCAL_HOSTS_H

#include "options/options.h"
#include "plan/hostfile.h"

/* Adds "localhost" to hosts. here: environment. Returns -1 with err if options ask for more than
 * one machine, or for more than the visible GPUs. */
int local_hosts(const struct options *options, char *const *here, struct hostlist *hosts,
                struct error *err);

/* Returns the number of GPUs of this machine, by their device files. */
int local_gpus(void);

#endif
