/* bcast_job.h - the node job of `muster bcast`, for launch_run()
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BCAST_JOB_H
#define MUSTER_BCAST_JOB_H

#include "node/node_job.h"

extern const struct node_job bcast_job;

#endif
