/* facts.h - the properties of this node, as text, to compare with the other nodes
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FACTS_H
#define MUSTER_FACTS_H

#include "comm/iface.h"
#include "comm/comm.h"
#include "strlist.h"

/* Adds "NAME\tVALUE" for each property: libraries, kernel, limits, /dev/shm, the environment of
 * NCCL and Gloo, nccl.conf, the interface. If the name begins with '!', the value is a problem
 * of this node, whatever the others have. iface may have an empty name. */
void facts_gather(struct strlist *facts, const struct comm_device *device,
                  const struct iface *iface);

/* facts: those of all ranks, in the order of ranks. Adds a line for each name whose values
 * differ, "kernel: 6.1.0 on 3 nodes; 6.12.4 on te2", and a line for each problem. */
void facts_compare(struct strlist *lines, const struct strlist *facts, const int *node_of_rank,
                   const char *const *host_of_rank, int ranks);

#endif
