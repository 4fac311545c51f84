/* gpu.h - the code that computes on this rank's GPU, from the plugin
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GPU_H
#define MUSTER_GPU_H

#include "comm/comm.h"
#include "model/ops.h"
#include "zero/zero_device.h"

/* Both compute in the order of comm's compute stream; free them before comm is closed. NULL
 * with err. */
struct ops         *gpu_ops(struct comm *comm, enum dtype type, struct error *err);
struct zero_device *gpu_zero(struct comm *comm, struct error *err);

#endif
