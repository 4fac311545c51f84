/* facts.h - what this node is, as text to compare with the others
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FACTS_H
#define MUSTER_FACTS_H

#include "comm/iface.h"
#include "comm/comm.h"
#include "strlist.h"

/* Add "NAME\tVALUE" for each: libraries, kernel, limits, /dev/shm, the environment of NCCL and
 * Gloo, nccl.conf, the interface. A name that begins with '!' has what is wrong here, whatever
 * the others have. iface may have an empty name. */
void facts_gather(struct strlist *facts, const struct comm_device *device,
                  const struct iface *iface);

/* facts as of all ranks, in the order of ranks: add a line for each name whose value differs,
 * "kernel: 6.1.0 on 3 nodes; 6.12.4 on te2", and one for each that is wrong. */
void facts_compare(struct strlist *lines, const struct strlist *facts, const int *node_of_rank,
                   const char *const *host_of_rank, int ranks);

#endif
