/* nvml.h - NVIDIA's management library, loaded while the program runs
 *
 * Only a child of the agent may load it: a static agent cannot load it together with every version
 * of the C library, and may die of it; and a call into the driver may never return.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_NVML_H
#define MUSTER_AGENT_NVML_H

#include <stdbool.h>

#define NVML_NO_PERMISSION    4
#define NVML_GPU_LOST         15
#define NVML_MISMATCH         18 /* the library and the driver are not of one version */
#define NVML_RESET_REQUIRED   16
#define NVML_LINKS_MAX        18 /* NVLinks of a GPU */

#define NVML_CLOCK_SM         1
#define NVML_LINK_REPEAT      0 /* counters of errors of an NVLink */
#define NVML_LINK_RECOVERY    1
#define NVML_LINK_CRC_FLIT    2
#define NVML_LINK_CRC_DATA    3

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_busy {
    unsigned gpu, memory; /* percent of the last second, or less */
};

/* The functions of NVML that we use. All that return int return 0, or an error. Those after
 * reasons are NULL if the library is too old to have them. */
struct nvml {
    int (*init)(void);
    const char *(*error)(int code);
    int (*count)(unsigned *count);
    int (*handle)(unsigned number, void **device);
    int (*name)(void *device, char *name, unsigned size);
    int (*ecc)(void *device, int kind, int counter, unsigned long long *count);
    int (*reasons)(void *device, unsigned long long *reasons);
    int (*memory)(void *device, struct nvml_memory *memory);
    int (*remapped)(void *device, unsigned *corrected, unsigned *uncorrected, unsigned *is_pending,
                    unsigned *has_failed);
    int (*link)(void *device, unsigned link, unsigned *is_active);
    int (*link_errors)(void *device, unsigned link, int counter, unsigned long long *count);
    int (*clock)(void *device, int clock, unsigned *mhz);
    int (*clock_most)(void *device, int clock, unsigned *mhz);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*busy)(void *device, struct nvml_busy *busy);
    int (*power)(void *device, unsigned *milliwatts);
    int (*power_limit)(void *device, unsigned *milliwatts);
    int (*pcie_speed)(void *device, unsigned *generation); /* of the link as it is now */
    int (*pcie_speed_most)(void *device, unsigned *generation);
    int (*pcie_width)(void *device, unsigned *lanes);
    int (*pcie_width_most)(void *device, unsigned *lanes);
    int (*pcie_repeats)(void *device, unsigned *count);
};

/* False: it is not on this node, or cannot be loaded. */
bool nvml_load(struct nvml *nvml);

#endif
