/* gpu_holders.h - the processes that have GPUs of this node open
 *
 * Found by their open files: no driver library is needed, and a process that
 * hangs in the driver is seen too. Root sees everybody's, others only their own.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_HOLDERS_H
#define MUSTER_AGENT_GPU_HOLDERS_H

#include <stdbool.h>

#include <jansson.h>

#include "node/gpu.h"

#define GPU_HOLDERS_MAX 64 /* reported of one node */

/* [{"pid":N, "uid":N, "user":"ann", "age_s":N, "command":"...", "gpus":[0, 1]},
 * ...] with the numbers of the GPUs as nvidia-smi counts them. wanted: by number,
 * GPU_MAX of them; NULL: all. Costs nothing where no GPU is. */
json_t *gpu_holders(const bool *wanted);

#endif
