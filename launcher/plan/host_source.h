/* host_source.h - where the hosts of a run come from
 *
 * In this order: -H, --hosts or --hostfile (also by muster.conf and the environment); for exec
 * pdsh's WCOLL; /job/hostfile; the job of Slurm or PBS that we are in; this machine.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_SOURCE_H
#define MUSTER_HOST_SOURCE_H

#include "options/options.h"
#include "plan/hostfile.h"

/* *include gets the filter that CUDA_VISIBLE_DEVICES stands for, if it counts (local_hosts.h), or
 * NULL; caller frees. here: environment. -1 with err. */
int host_source_find(const struct options *options, char *const *here, struct hostlist *hosts,
                     char **include, struct error *err);

#endif
