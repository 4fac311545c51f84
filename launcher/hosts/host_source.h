/* host_source.h - where the hosts of a run come from
 *
 * The first of these that exists: -H, --hosts or --hostfile (also from muster.conf and the
 * environment), of which -g chooses; the groups of -g or -a; for exec, pdsh's WCOLL; /job/hostfile;
 * the job of a batch system that we are in; this machine.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_SOURCE_H
#define MUSTER_HOST_SOURCE_H

#include "options/options.h"
#include "plan/hostfile.h"

/* here: environment. Returns -1 with err. */
int host_source_find(const struct options *options, char *const *here, struct hostlist *hosts,
                     struct error *err);

#endif
