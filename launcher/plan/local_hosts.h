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

/* hosts gets "localhost". *include gets the filter that CUDA_VISIBLE_DEVICES
 * stands for ("localhost:2,3"; caller frees), or NULL. here: environment. -1
 * with err when options ask for more than one machine. */
int local_hosts(const struct options *options, char *const *here, struct hostlist *hosts,
                char **include, struct error *err);

/* GPUs of this machine, by their device files. */
int local_gpus(void);

#endif
