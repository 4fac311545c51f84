/* collect_job.h - the node job of `muster collect`, for launch_run()
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COLLECT_JOB_H
#define MUSTER_COLLECT_JOB_H

#include "node/node_job.h"

extern const struct node_job collect_job;

#endif
