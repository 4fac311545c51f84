/* nvml.c - the GPUs, as NVIDIA's management library sees them
 *
 * A separate process loads the library (node/nvml.h). If it dies, or cannot load it, nvidia-smi is
 * used instead.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/gpu.h"
#include "node/gpu_driver.h"
#include "node/nvml.h"
#include "task/command.h"

#define UNCORRECTED 1
#define VOLATILE    0
#define SLOWED      (0x8 | 0x20 | 0x40 | 0x80) /* for heat or power, not because it is idle */
#define CANNOT_LOAD 3
#define SMI_S       7.0
#define NAME_BYTES  96

/* The report about a node's GPUs. */
struct gpus {
    unsigned           count, lost, slowed;
    unsigned long long ecc;
    char               name[NAME_BYTES]; /* of the first GPU */
    bool               is_mixed;
};

static int  load_and_ask(const struct checkup *checkup);
static void look_at(const struct nvml *nvml, unsigned number, struct gpus *gpus);
static void ask_smi(const struct checkup *checkup);
static void add_name(struct gpus *gpus, const char *name);
static void tell(const struct checkup *checkup, const struct gpus *gpus);
static void tell_failure(const struct checkup *checkup, const char *why);

void nvml_check(const struct checkup *checkup)
{
    pid_t pid = fork();
    int   status = 0;

    if (pid == 0)
        _exit(load_and_ask(checkup));
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
        WEXITSTATUS(status) == 0)
        return;
    if (gpu_count() > 0)
        ask_smi(checkup);
}

static int load_and_ask(const struct checkup *checkup)
{
    struct nvml nvml;
    struct gpus gpus = { 0 };
    unsigned    i;
    int         error;

    if (!nvml_load(&nvml))
        return CANNOT_LOAD;
    error = nvml.init();
    if (error != 0) {
        struct gpu_driver driver;

        gpu_driver_find(checkup->root, &driver);
        if (error != NVML_MISMATCH || !gpu_driver_differs(&driver)) /* else already reported */
            tell_failure(checkup, nvml.error(error));
        return 0;
    }
    if (nvml.count(&gpus.count) != 0)
        gpus.count = 0;
    for (i = 0; i < gpus.count && i < GPU_MAX; i++)
        look_at(&nvml, i, &gpus);
    tell(checkup, &gpus);
    return 0;
}

static void look_at(const struct nvml *nvml, unsigned number, struct gpus *gpus)
{
    unsigned long long value;
    char               name[NAME_BYTES] = "";
    void              *device;

    if (nvml->handle(number, &device) != 0) {
        gpus->lost++;
        return;
    }
    nvml->name(device, name, sizeof name);
    add_name(gpus, name);
    if (nvml->ecc(device, UNCORRECTED, VOLATILE, &value) == 0)
        gpus->ecc += value;
    if (nvml->reasons(device, &value) == 0 && (value & SLOWED) != 0)
        gpus->slowed++;
}

static void ask_smi(const struct checkup *checkup)
{
    const char *const     argv[] = { "nvidia-smi", "--format=csv,noheader,nounits",
                                     "--query-gpu=name,ecc.errors.uncorrected.volatile.total,"
                                         "clocks_throttle_reasons.active",
                                     NULL };
    struct command_result result;
    struct gpus           gpus = { 0 };
    char                 *line, *rest, name[NAME_BYTES], ecc[32], reasons[32], why[256];

    if (!command_run(argv, NULL, SMI_S, &result)) {
        command_why(&result, SMI_S, why, sizeof why);
        tell_failure(checkup, strstr(result.out, "mismatch") != NULL ? result.out : why);
        command_clear(&result);
        return;
    }
    for (line = strtok_r(result.out, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (sscanf(line, "%95[^,], %31[^,], %31s", name, ecc, reasons) != 3)
            continue;
        gpus.count++;
        add_name(&gpus, name);
        gpus.ecc += strtoull(ecc, NULL, 10); /* "[N/A]" is 0 */
        gpus.slowed += (strtoull(reasons, NULL, 16) & SLOWED) != 0;
    }
    tell(checkup, &gpus);
    command_clear(&result);
}

static void add_name(struct gpus *gpus, const char *name)
{
    if (gpus->name[0] == '\0')
        snprintf(gpus->name, sizeof gpus->name, "%s", name);
    gpus->is_mixed |= strcmp(gpus->name, name) != 0;
}

static void tell(const struct checkup *checkup, const struct gpus *gpus)
{
    int files = gpu_count();

    checkup_fact(
        checkup, "gpu model",
        json_sprintf("%u x %s%s", gpus->count, gpus->name, gpus->is_mixed ? " and others" : ""));
    if (gpus->lost > 0 || (int)gpus->count < files)
        checkup_find(
            checkup, CHECKUP_FAIL, "its rank fails with \"invalid device ordinal\", or hangs",
            "sudo reboot; if it happens again, ask for another machine",
            "the driver has lost %d of %d GPUs",
            (int)gpus->lost + (files > (int)gpus->count ? files - (int)gpus->count : 0),
            files > (int)gpus->count ? files : (int)gpus->count);
    if (gpus->ecc > 0)
        checkup_find(checkup, CHECKUP_FAIL, "wrong numbers, or CUDA errors at random",
                     "nvidia-smi -q -d ECC; sudo nvidia-smi -r, or ask for another machine",
                     "%llu uncorrected memory errors since the driver was loaded", gpus->ecc);
    if (gpus->slowed > 0)
        checkup_find(
            checkup, CHECKUP_WARN, "this node is slower than the others, and all wait for it",
            "nvidia-smi -q -d PERFORMANCE", "GPUs slowed down by heat or power: %u", gpus->slowed);
}

static void tell_failure(const struct checkup *checkup, const char *why)
{
    checkup_find(checkup, CHECKUP_FAIL, "no CUDA program starts",
                 "nvidia-smi; sudo dmesg | grep NVRM; sudo reboot", "NVML: %.*s",
                 (int)strcspn(why, "\n"), why);
}
