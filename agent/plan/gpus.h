/* gpus.h - which GPUs the ranks of a plan use
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PLAN_GPUS_H
#define MUSTER_AGENT_PLAN_GPUS_H

#include <stdbool.h>

#include "plan/node_plan.h"

/* Sets wanted[GPU_MAX] for each, by its number, as nvidia-smi counts. False: they are not given by
 * number (UUIDs, MIG), or not at all; it may be any of them. */
bool plan_gpus(const struct node_plan *plan, bool *wanted);

#endif
