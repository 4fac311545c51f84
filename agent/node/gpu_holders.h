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
#include "node/process.h"

#define GPU_HOLDERS_MAX 64 /* reported per node */

struct gpu_holder {
    struct process process;
    json_t        *gpus; /* [0, 1]: the numbers of the GPUs as nvidia-smi counts them */
};

struct gpu_holders {
    struct gpu_holder *item;
    size_t             count;
};

/* Returns [{"pid":N, "uid":N, "user":"ann", "age_s":N, "command":"...", "gpus":[0, 1]}, ...]
 * with the numbers of the GPUs as nvidia-smi counts them. wanted[GPU_MAX]: which GPUs to look
 * for; NULL: all. Cheap on a node without GPUs. */
json_t *gpu_holders(const bool *wanted);

/* Finds all of them but this process, in the order of their pids. */
void gpu_holders_find(struct gpu_holders *found, const bool *wanted);
void gpu_holders_clear(struct gpu_holders *found);
/* Describes one, as above; NULL: it is gone. */
json_t *gpu_holder_about(const struct gpu_holder *holder);
/* Does this process have a GPU open? */
bool gpu_is_held_by(pid_t pid);

#endif
