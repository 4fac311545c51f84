/* local_hosts.h - the hosts of a run without a hostfile: this machine alone
 *
 * As in DeepSpeed, a missing hostfile means all GPUs of this machine, or those
 * that CUDA_VISIBLE_DEVICES names (runner.py:446-477). Without a GPU there is
 * one slot, or as many as -np or --num_gpus ask for.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LOCAL_HOSTS_H
#define MUSTER_LOCAL_HOSTS_H

#include "options/options.h"
#include "plan/hostfile.h"

/* Adds "localhost" to hosts. *include receives the filter that CUDA_VISIBLE_DEVICES implies
 * ("localhost:2,3"; the caller frees it), or NULL. here: environment. Returns -1 with err if
 * options ask for more than one machine. */
int local_hosts(const struct options *options, char *const *here, struct hostlist *hosts,
                char **include, struct error *err);

/* Returns the number of GPUs of this machine, by their device files. */
int local_gpus(void);

#endif
