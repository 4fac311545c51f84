/* gpu_driver.h - the NVIDIA driver: module and library versions
 *
 * The module is the one that is loaded, the library the one that is installed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_DRIVER_H
#define MUSTER_AGENT_GPU_DRIVER_H

#include <stdbool.h>

/* Versions such as "535.129.03"; "": there is none, or more than one. Without a module, the
 * library is not looked for. */
struct gpu_driver {
    char module[32], library[32];
};

/* Reads the files below root; "" is /. */
void gpu_driver_find(const char *root, struct gpu_driver *driver);
/* True if the versions differ. Then every CUDA program fails with
 * "Driver/library version mismatch". */
bool gpu_driver_differs(const struct gpu_driver *driver);

#endif
