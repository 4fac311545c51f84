/* comm_device.h - this rank's GPU, as CUDA reports it; in the plugin, with comm_nccl.c
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMM_DEVICE_H
#define MUSTER_COMM_DEVICE_H

#include "comm/comm.h"

/* Implements comm_backend's probe. */
void comm_device_probe(int local_rank, struct comm_device *device);

#endif
