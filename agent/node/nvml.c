/* nvml.c - see nvml.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

bool nvml_load(struct nvml *nvml)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void       *into;
        bool        is_needed;
    } names[] = {
        { "nvmlInit_v2", &nvml->init, true },
        { "nvmlErrorString", &nvml->error, true },
        { "nvmlDeviceGetCount_v2", &nvml->count, true },
        { "nvmlDeviceGetHandleByIndex_v2", &nvml->handle, true },
        { "nvmlDeviceGetName", &nvml->name, true },
        { "nvmlDeviceGetTotalEccErrors", &nvml->ecc, true },
        { "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml->reasons, true },
        { "nvmlDeviceGetMemoryInfo", &nvml->memory, false },
        { "nvmlDeviceGetRemappedRows", &nvml->remapped, false },
        { "nvmlDeviceGetNvLinkState", &nvml->link, false },
        { "nvmlDeviceGetNvLinkErrorCounter", &nvml->link_errors, false },
        { "nvmlDeviceGetClockInfo", &nvml->clock, false },
        { "nvmlDeviceGetMaxClockInfo", &nvml->clock_most, false },
        { "nvmlDeviceGetTemperature", &nvml->temperature, false },
        { "nvmlDeviceGetUtilizationRates", &nvml->busy, false },
        { "nvmlDeviceGetPowerUsage", &nvml->power, false },
        { "nvmlDeviceGetEnforcedPowerLimit", &nvml->power_limit, false },
        { "nvmlDeviceGetCurrPcieLinkGeneration", &nvml->pcie_speed, false },
        { "nvmlDeviceGetMaxPcieLinkGeneration", &nvml->pcie_speed_most, false },
        { "nvmlDeviceGetCurrPcieLinkWidth", &nvml->pcie_width, false },
        { "nvmlDeviceGetMaxPcieLinkWidth", &nvml->pcie_width_most, false },
        { "nvmlDeviceGetPcieReplayCounter", &nvml->pcie_repeats, false },
    };
    size_t i;
    void  *symbol;

    *nvml = (struct nvml){ 0 };
    for (i = 0; library != NULL && i < sizeof names / sizeof *names; i++) {
        symbol = dlsym(library, names[i].name);
        if (symbol == NULL && names[i].is_needed)
            return false;
        memcpy(names[i].into, &symbol, sizeof symbol);
    }
    return library != NULL;
}
