/* privileges.h - a job's access to its nodes: RDMA, host network, root; all off by default
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PRIVILEGES_H
#define MUSTER_PRIVILEGES_H

#include "job/job.h"

/* Adds the capability to pin memory for --rdma's adapter. Call it after the last option. */
void privileges_add_rdma(struct job *job);

/* Removes hostNetwork, hostIPC and hostPID, for a Pod that does not need them. */
void privileges_drop_host(json_t *template);

bool privileges_has_host_network(const json_t *template);

/* Adds a warning for each privilege that the job has. */
void privileges_warn(struct job *job);

#endif
