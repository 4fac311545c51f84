/* driver.c - the NVIDIA driver: loaded module, installed library, and its
 * errors in the kernel's log
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include "node/gpu_driver.h"
#include "node/xid.h"

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

/* Reports errors of the last day. One finding for each Xid number. */
void xid_check(const struct checkup *checkup)
{
    int  counts[XIDS_MAX], xid;
    bool is_of_hardware;

    xid_read(checkup->root, counts);
    for (xid = 0; xid < XIDS_MAX; xid++) {
        is_of_hardware = xid_is_of_hardware(xid);
        if (counts[xid] > 0)
            checkup_find(checkup, is_of_hardware ? CHECKUP_FAIL : CHECKUP_WARN,
                         is_of_hardware ? "NCCL and CUDA errors at random, or a GPU is gone"
                                        : "the driver killed a program",
                         is_of_hardware ? "sudo reboot; if it happens again, ask for another "
                                          "machine (nvidia-smi -q)"
                                        : "find the program: sudo dmesg | grep Xid",
                         "the driver has reported Xid %d %s in the last day", xid,
                         counts[xid] > 1 ? "several times" : "once");
    }
}
