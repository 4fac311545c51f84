/* driver.c - the NVIDIA driver: loaded module, installed library
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include "node/gpu_driver.h"

void driver_check(const struct checkup *checkup)
{
    struct gpu_driver driver;

    gpu_driver_find(checkup->root, &driver);
    if (driver.module[0] == '\0')
        return;
    checkup_fact(checkup, "driver module", json_string(driver.module));
    if (gpu_driver_differs(&driver))
        checkup_find(checkup, CHECKUP_FAIL,
                     "\"Failed to initialize NVML: Driver/library version "
                     "mismatch\", and no CUDA program starts",
                     "sudo reboot", "the loaded driver is %s, its library %s", driver.module,
                     driver.library);
}
