/* privileges.h - what a job has of its nodes, and that others may not like: only if asked for
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PRIVILEGES_H
#define MUSTER_PRIVILEGES_H

#include "job/job.h"

/* Of --rdma, after the last option: an adapter, and the right to pin memory for it. */
void privileges_add_rdma(struct job *job);

/* Of a Pod of that template that has no business with the network of its node. */
void privileges_drop_host(json_t *template);

bool privileges_has_host_network(const json_t *template);

/* A warning for each that the job has. */
void privileges_warn(struct job *job);

#endif
