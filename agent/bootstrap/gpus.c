/* gpus.c - the driver is loaded and matches its library, and no process
 * has a GPU open; GPU errors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <stdlib.h>
#include <string.h>

#include "evidence/last_day.h"
#include "node/gpu.h"
#include "node/gpu_driver.h"
#include "number.h"
#include "task/command.h"

#define ASK_S 20.0

static int check_count(struct bootstrap *b, struct finding *finding, struct error *err);
static int check_driver(struct bootstrap *b, const struct gpu_driver *driver,
                        struct finding *finding, struct error *err);
static void note_errors(struct bootstrap *b, struct finding *finding);
static void note_evidence(struct bootstrap *b, struct finding *finding);

int step_gpus(struct bootstrap *b, struct finding *finding, struct error *err)
{
    struct gpu_driver driver;

    gpu_driver_find(b->root, &driver);
    if (json_object_get(b->conf, "gpus") == NULL && driver.module[0] == '\0') {
        finding->is_unused = true;
        return 0;
    }
    if (check_count(b, finding, err) < 0 || check_driver(b, &driver, finding, err) < 0)
        return -1;
    if (driver.module[0] != '\0')
        note_errors(b, finding);
    if (b->root[0] == '\0')
        gpu_users_note(finding);
    return 0;
}

int step_gpus_free(struct bootstrap *b, struct finding *finding, struct error *err)
{
    (void)err;
    if (b->root[0] == '\0')
        gpu_users_end_ours(finding);
    return 0;
}

static int check_count(struct bootstrap *b, struct finding *finding, struct error *err)
{
    const char *text = bootstrap_conf(b, "gpus", "count");
    int64_t     wanted;
    int         found = b->root[0] == '\0' ? gpu_count() : 0;

    if (text == NULL)
        return 0;
    if (parse_number(text, 0, GPU_MAX, &wanted, err) < 0)
        return err_set(err, "[gpus] count: %s", err->text);
    if (found == wanted)
        return 0;
    finding_fix(finding, "lspci | grep -i nvidia shows the GPUs of the machine, dmesg | grep "
                         "-i nvrm why one is missing");
    return err_set(err, "%d GPUs were found, [gpus] count says %d", found, (int)wanted);
}

static int check_driver(struct bootstrap *b, const struct gpu_driver *driver,
                        struct finding *finding, struct error *err)
{
    const char *wanted = bootstrap_conf(b, "gpus", "driver");
    const char *count = bootstrap_conf(b, "gpus", "count");

    if (driver->module[0] == '\0') {
        if (wanted == NULL && (count == NULL || strcmp(count, "0") == 0))
            return 0;
        finding_fix(finding, "nvidia = yes in [driver] installs and loads it; or modprobe nvidia");
        return err_set(err, "the NVIDIA driver is not loaded");
    }
    json_object_set_new(b->facts, "driver", json_string(driver->module));
    if (gpu_driver_differs(driver)) {
        finding_fix(finding, "reboot this node, or: rmmod the nvidia modules and modprobe nvidia");
        return err_set(err, "the driver that is loaded is %s, its library is %s: every CUDA "
                       "program fails with 'driver/library version mismatch'", driver->module,
                       driver->library);
    }
    if (wanted == NULL || strncmp(driver->module, wanted, strlen(wanted)) == 0)
        return 0;
    return err_set(err, "the driver is %s, [gpus] driver says %s", driver->module, wanted);
}

/* Such errors are no reason to stop, but one to ask for another machine. */
static void note_errors(struct bootstrap *b, struct finding *finding)
{
    static const char *const argv[] = { "nvidia-smi", "--format=csv,noheader,nounits",
                                        "--query-gpu=ecc.errors.uncorrected.volatile.total",
                                        NULL };
    struct command_result result;
    unsigned long long    errors = 0;
    char                 *line, *rest;

    note_evidence(b, finding);
    if (command_run(argv, NULL, ASK_S, &result))
        for (line = strtok_r(result.out, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest))
            errors += strtoull(line, NULL, 10); /* "[N/A]" is 0 */
    if (errors > 0)
        finding_note(finding, "GPUs have had %llu uncorrected memory errors since the driver was "
                     "loaded: nvidia-smi -q -d ECC", errors);
    command_clear(&result);
}

/* What a program can cause is not noted. */
static void note_evidence(struct bootstrap *b, struct finding *finding)
{
    struct evidence_list list = { 0 };
    size_t               i;

    last_day_read(b->root, &list);
    for (i = 0; i < list.count; i++) {
        const struct evidence *evidence = &list.item[i].evidence;

        if (evidence->is_gpu && evidence->severity >= EVIDENCE_ERROR)
            finding_note(finding, "the driver has reported %s (%s) in the last day: %s",
                         evidence->what, evidence->device, evidence->action);
    }
    evidence_list_clear(&list);
}
