/* gpu_driver.h - the NVIDIA driver: the module that is loaded, and the library that is installed
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_DRIVER_H
#define MUSTER_AGENT_GPU_DRIVER_H

#include <stdbool.h>

/* Versions, "535.129.03"; "": there is none, or not just one. Without a module no library is looked
 * for. */
struct gpu_driver {
    char module[32], library[32];
};

/* From the files below root; "" is /. */
void gpu_driver_find(const char *root, struct gpu_driver *driver);
/* Then every CUDA program fails with "Driver/library version mismatch". */
bool gpu_driver_differs(const struct gpu_driver *driver);

#endif
