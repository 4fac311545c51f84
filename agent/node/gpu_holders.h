/* gpu_holders.h - the processes that have GPUs of this node open
 *
 * It looks at their open files: that needs no driver library, and also finds a process that
 * hangs in the driver. Root sees all processes, other users their own.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_HOLDERS_H
#define MUSTER_AGENT_GPU_HOLDERS_H

#include <stdbool.h>

#include <jansson.h>

#include "node/gpu.h"

#define GPU_HOLDERS_MAX 64 /* reported per node */

/* Returns [{"pid":N, "uid":N, "user":"ann", "age_s":N, "command":"...", "gpus":[0, 1]}, ...]
 * with the numbers of the GPUs as nvidia-smi counts them. wanted[GPU_MAX]: which GPUs to look
 * for; NULL: all. Cheap on a node without GPUs. */
json_t *gpu_holders(const bool *wanted);

#endif
