/* gpu_counters.c - see gpu_counters.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "samples/gpu_counters.h"

#include <stddef.h>

#define ECC_UNCORRECTED 1
#define ECC_VOLATILE    0

typedef int number_f(void *device, unsigned *number);
typedef int kind_f(void *device, int kind, unsigned *number);

static void    read_gpu(const struct nvml *nvml, unsigned number, int64_t *value);
static int64_t number_of(number_f *read, void *device);
static int64_t kind_of(kind_f *read, void *device, int kind);
static void    read_memory(const struct nvml *nvml, void *device, int64_t *value);
static void    read_links(const struct nvml *nvml, void *device, int64_t *value);
static int64_t link_count(const struct nvml *nvml, void *device, unsigned link, int counter);

void gpu_counters_read(const struct nvml *nvml, struct sample *sample)
{
    unsigned count = 0, i;

    sample->gpus = 0;
    if (nvml->count(&count) != 0)
        return;
    for (i = 0; i < count && i < SAMPLE_GPUS_MAX; i++)
        read_gpu(nvml, i, sample->gpu[sample->gpus++]);
}

static void read_gpu(const struct nvml *nvml, unsigned number, int64_t *value)
{
    struct nvml_busy   busy;
    unsigned long long reasons;
    void              *device;
    int                i;

    for (i = 0; i < GPU_VALUES; i++)
        value[i] = SAMPLE_UNKNOWN;
    value[GPU_ERROR] = nvml->handle(number, &device);
    if (value[GPU_ERROR] != 0)
        return;
    value[GPU_MHZ] = kind_of(nvml->clock, device, NVML_CLOCK_SM);
    value[GPU_MHZ_MOST] = kind_of(nvml->clock_most, device, NVML_CLOCK_SM);
    if (nvml->busy != NULL && nvml->busy(device, &busy) == 0)
        value[GPU_BUSY] = busy.gpu;
    if (nvml->reasons(device, &reasons) == 0)
        value[GPU_REASONS] = (int64_t)(reasons & INT64_MAX);
    value[GPU_MILLIWATTS] = number_of(nvml->power, device);
    value[GPU_MILLIWATTS_MOST] = number_of(nvml->power_limit, device);
    value[GPU_CELSIUS] = kind_of(nvml->temperature, device, 0);
    value[GPU_PCIE_SPEED] = number_of(nvml->pcie_speed, device);
    value[GPU_PCIE_SPEED_MOST] = number_of(nvml->pcie_speed_most, device);
    value[GPU_PCIE_LANES] = number_of(nvml->pcie_width, device);
    value[GPU_PCIE_LANES_MOST] = number_of(nvml->pcie_width_most, device);
    value[GPU_PCIE_REPEATS] = number_of(nvml->pcie_repeats, device);
    read_memory(nvml, device, value);
    read_links(nvml, device, value);
}

static int64_t number_of(number_f *read, void *device)
{
    unsigned number;

    return read != NULL && read(device, &number) == 0 ? (int64_t)number : SAMPLE_UNKNOWN;
}

static int64_t kind_of(kind_f *read, void *device, int kind)
{
    unsigned number;

    return read != NULL && read(device, kind, &number) == 0 ? (int64_t)number : SAMPLE_UNKNOWN;
}

/* A driver that has lost the GPU says so here at the latest. */
static void read_memory(const struct nvml *nvml, void *device, int64_t *value)
{
    unsigned           other[2], is_pending, has_failed;
    unsigned long long ecc;
    int                error = nvml->ecc(device, ECC_UNCORRECTED, ECC_VOLATILE, &ecc);

    if (error == 0)
        value[GPU_ECC] = (int64_t)(ecc & INT64_MAX);
    else if (error == NVML_GPU_LOST || error == NVML_RESET_REQUIRED)
        value[GPU_ERROR] = error;
    if (nvml->remapped == NULL ||
        nvml->remapped(device, &other[0], &other[1], &is_pending, &has_failed) != 0)
        return;
    value[GPU_REMAP_PENDING] = is_pending != 0;
    value[GPU_REMAP_FAILED] = has_failed != 0;
}

static void read_links(const struct nvml *nvml, void *device, int64_t *value)
{
    int64_t  recoveries = 0, errors = 0, links = 0;
    unsigned link, is_active, known = 0;

    for (link = 0; nvml->link != NULL && link < NVML_LINKS_MAX; link++) {
        if (nvml->link(device, link, &is_active) != 0)
            continue;
        known++;
        if (is_active == 0)
            continue;
        links |= (int64_t)1 << link;
        recoveries += link_count(nvml, device, link, NVML_LINK_RECOVERY);
        errors += link_count(nvml, device, link, NVML_LINK_REPEAT) +
                  link_count(nvml, device, link, NVML_LINK_CRC_FLIT) +
                  link_count(nvml, device, link, NVML_LINK_CRC_DATA);
    }
    if (known == 0)
        return;
    value[GPU_LINKS] = links;
    value[GPU_LINK_RECOVERIES] = recoveries;
    value[GPU_LINK_ERRORS] = errors;
}

/* Some GPUs count errors of links, and some links of them. */
static int64_t link_count(const struct nvml *nvml, void *device, unsigned link, int counter)
{
    unsigned long long count = 0;

    if (nvml->link_errors == NULL || nvml->link_errors(device, link, counter, &count) != 0)
        return 0;
    return (int64_t)(count & UINT32_MAX);
}
