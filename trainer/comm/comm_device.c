/* comm_device.c - see comm_device.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/comm_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cuda_runtime.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes" /* ncclResetDebugInit() */
#include <nccl.h>
#pragma GCC diagnostic pop

static void no_gpu(struct comm_device *device, cudaError_t rc);
static void format_uuid(const char *bytes, char text[37]);

void comm_device_probe(int local_rank, struct comm_device *device)
{
    const char           *visible = getenv("CUDA_VISIBLE_DEVICES");
    struct cudaDeviceProp prop;
    cudaError_t           rc;
    int                   count = 0;

    *device = (struct comm_device){ 0 };
    ncclGetVersion(&device->library_version);
    rc = cudaGetDeviceCount(&count);
    if (rc != cudaSuccess || count == 0) {
        no_gpu(device, rc);
        return;
    }
    /* With --one-gpu-per-rank each rank sees only its own GPU. */
    device->index = count == 1 ? 0 : local_rank;
    if (device->index >= count) {
        snprintf(device->why_not, sizeof device->why_not,
                 "no GPU for local rank %d: %d visible (CUDA_VISIBLE_DEVICES=%.60s)", local_rank,
                 count, visible != NULL ? visible : "");
        return;
    }
    rc = cudaGetDeviceProperties(&prop, device->index);
    if (rc != cudaSuccess) {
        no_gpu(device, rc);
        return;
    }
    format_uuid(prop.uuid.bytes, device->uuid);
    snprintf(device->name, sizeof device->name, "%.63s", prop.name);
    /* An older library does not know all fields of this header's ncclConfig_t. */
    if (device->library_version < NCCL_VERSION_CODE)
        snprintf(device->why_not, sizeof device->why_not,
                 "NCCL %d is older than %d, which muster-train was built with",
                 device->library_version, NCCL_VERSION_CODE);
    else
        device->usable = true;
}

static void no_gpu(struct comm_device *device, cudaError_t rc)
{
    if (access("/proc/driver/nvidia/version", F_OK) != 0)
        snprintf(device->why_not, sizeof device->why_not, "no GPU: no NVIDIA driver is loaded");
    else if (rc != cudaSuccess)
        snprintf(device->why_not, sizeof device->why_not, "no GPU: %s", cudaGetErrorString(rc));
    else
        snprintf(device->why_not, sizeof device->why_not, "no GPU: CUDA finds none");
}

static void format_uuid(const char *bytes, char text[37])
{
    int i;

    for (i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *text++ = '-';
        hex_encode(bytes + i, 1, text);
        text += 2;
    }
}
