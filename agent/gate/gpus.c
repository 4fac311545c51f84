/* gpus.c - do the GPUs of the plan answer, as they were at the first gate, and are they free?
 *
 * The driver is asked by NVML, in a child. Without NVML only the processes count that have a
 * GPU open. Those that had one at the first gate may keep it, with the memory that was in use
 * then; the user was warned of them. MPS's server serves all runs, and stays.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "gate/gate_check.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "exit_code.h"
#include "frame.h"
#include "gate/gate.h"
#include "node/gpu.h"
#include "node/gpu_holders.h"
#include "node/nvml.h"
#include "plan/gpus.h"

#define MIB 1048576.0
/* What the driver takes more or less for itself: no program is that small. */
#define SLACK ((int64_t)(512 << 20))
#define MPS "nvidia-cuda-mps"
#define CLEAN "muster clean shows whose it is, and --kill-gpu ends it"

static json_t *look(void);
static json_t *look_at(const struct nvml *nvml, unsigned number);
static json_t *lost(const struct nvml *nvml, int error);
static int     wanted_of(const json_t *request, bool *wanted);
static bool    is_broken(const json_t *found, int number, const struct gate_memory *memory,
                         struct failure *failure);
static bool    is_link_down(const json_t *gpu, const json_t *before, int number,
                            struct failure *failure);
static enum gate_verdict held(const json_t *found, const struct gate_memory *memory,
                              struct failure *failure);
static bool              is_known_free(const json_t *found, const struct gate_memory *memory,
                                       const json_t *numbers);
static void              tell_holder(const json_t *found, const struct gate_memory *memory,
                                     const json_t *holder, struct failure *failure);
static bool              may_hold(const json_t *holder, const struct gate_memory *memory);
static bool is_full(const json_t *found, const bool *wanted, const struct gate_memory *memory,
                    struct failure *failure);
static int64_t more_in_use(const json_t *found, const struct gate_memory *memory, int number);
static bool    knows_memory(const json_t *found, const struct gate_memory *memory, int number);
static int64_t number_in(const json_t *gpu, const char *key);
static const char *text_in(const json_t *object, const char *key);

static json_t *request(const struct node_plan *plan, const struct gate_memory *memory)
{
    bool    wanted[GPU_MAX] = { false }, are_numbers = plan_gpus(plan, wanted);
    json_t *numbers = json_array();
    int     files = gpu_count(), i;

    for (i = 0; i < GPU_MAX; i++)
        if (are_numbers ? wanted[i] : i < files)
            json_array_append_new(numbers, json_integer(i));
    if ((files == 0 && memory->gpus == NULL) || json_array_size(numbers) == 0) {
        json_decref(numbers);
        return NULL;
    }
    return json_pack("{s:o, s:i, s:b}", "gpus", numbers, "files", files, "again",
                     (int)(memory->holders != NULL));
}

/* In the child. Looks for processes first, which needs no driver. */
static int run(const json_t *request, struct task_output *out)
{
    bool wanted[GPU_MAX] = { false };

    wanted_of(request, wanted);
    if (json_is_true(json_object_get(request, "again")))
        task_output_line(out, json_pack("{s:o}", "holders", gpu_holders(wanted)));
    task_output_line(out, look());
    return 0;
}

/* Returns {"gpus":[...]}, or {} if there is no NVML, or {"error":"why it does not work"}. */
static json_t *look(void)
{
    struct nvml nvml;
    unsigned    count = 0, i;
    json_t     *gpus;
    int         error;

    if (!nvml_load(&nvml))
        return json_object();
    error = nvml.init();
    if (error != 0 || (error = nvml.count(&count)) != 0)
        return json_pack("{s:o}", "error", json_sprintf("%s", nvml.error(error)));
    gpus = json_array();
    for (i = 0; i < count && i < GPU_MAX; i++)
        json_array_append_new(gpus, look_at(&nvml, i));
    return json_pack("{s:o}", "gpus", gpus);
}

static json_t *look_at(const struct nvml *nvml, unsigned number)
{
    struct nvml_memory memory;
    json_t            *gpu;
    unsigned           other[2], is_pending = 0, has_failed, is_active, link;
    json_int_t         links = 0;
    void              *device;
    int                error = nvml->handle(number, &device);

    if (error == NVML_NO_PERMISSION)
        return json_object();
    if (error != 0)
        return lost(nvml, error);
    gpu = json_object();
    if (nvml->memory != NULL && (error = nvml->memory(device, &memory)) == 0)
        json_object_set_new(gpu, "used", json_integer((json_int_t)memory.used));
    if (nvml->remapped != NULL &&
        nvml->remapped(device, &other[0], &other[1], &is_pending, &has_failed) == 0 &&
        is_pending != 0)
        json_object_set_new(gpu, "pending", json_true());
    for (link = 0; nvml->link != NULL && link < NVML_LINKS_MAX; link++)
        if (nvml->link(device, link, &is_active) == 0 && is_active != 0)
            links |= (json_int_t)1 << link;
    json_object_set_new(gpu, "links", json_integer(links));
    if (error == NVML_GPU_LOST || error == NVML_RESET_REQUIRED) {
        json_decref(gpu);
        return lost(nvml, error);
    }
    return gpu;
}

static json_t *lost(const struct nvml *nvml, int error)
{
    json_t *gpu = json_pack("{s:o}", "error", json_sprintf("%s", nvml->error(error)));

    if (error == NVML_RESET_REQUIRED)
        json_object_set_new(gpu, "reset", json_true());
    return gpu;
}

/* --- what it means ----------------------------------------------------------- */

static enum gate_verdict judge(const json_t *request, const json_t *found,
                               struct gate_memory *memory, struct failure *failure)
{
    bool              wanted[GPU_MAX] = { false };
    const char       *error = json_string_value(json_object_get(found, "error"));
    json_t           *gpus = json_object_get(found, "gpus");
    int               files = wanted_of(request, wanted), i;
    enum gate_verdict verdict;

    if (files < (int)json_array_size(memory->gpus)) /* even their files are gone */
        files = (int)json_array_size(memory->gpus);
    if (error != NULL && memory->gpus != NULL) {
        failure_set(failure, EXIT_CREATE, "nvidia-smi; sudo dmesg | grep NVRM; sudo reboot",
                    "the GPUs do not answer: NVML: %.200s", error);
        return GATE_BAD;
    }
    for (i = 0; i < GPU_MAX && gpus != NULL; i++)
        if (wanted[i] && i < files && is_broken(found, i, memory, failure))
            return GATE_BAD;
    verdict = held(found, memory, failure);
    if (verdict != GATE_WAIT && is_full(found, wanted, memory, failure))
        return GATE_WAIT;
    if (memory->gpus == NULL)
        memory->gpus = json_incref(gpus);
    return verdict;
}

/* Returns the number of GPUs by their files. */
static int wanted_of(const json_t *request, bool *wanted)
{
    const json_t *number;
    size_t        i;

    json_array_foreach(json_object_get(request, "gpus"), i,
                       number) if (json_integer_value(number) >= 0 &&
                                   json_integer_value(number) < GPU_MAX)
        wanted[json_integer_value(number)] = true;
    return (int)json_integer_value(json_object_get(request, "files"));
}

static bool is_broken(const json_t *found, int number, const struct gate_memory *memory,
                      struct failure *failure)
{
    const json_t *all = json_object_get(found, "gpus"),
                 *gpu = json_array_get(all, (size_t)number);
    const char *error = text_in(gpu, "error");

    if (gpu == NULL) {
        failure_set(failure, EXIT_CREATE, "sudo reboot; if it happens again, replace the GPU",
                    "GPU %d does not answer: the driver has lost it, and still has %zu", number,
                    json_array_size(all));
        return true;
    }
    if (json_is_true(json_object_get(gpu, "reset")) ||
        json_is_true(json_object_get(gpu, "pending"))) {
        failure_set(failure, EXIT_CREATE, "sudo nvidia-smi -r, or reboot",
                    "GPU %d must be reset: %s", number,
                    error[0] != '\0' ? error : "it has a row of its memory to remap");
        return true;
    }
    if (error[0] != '\0') {
        failure_set(failure, EXIT_CREATE, "sudo reboot; if it happens again, replace the GPU",
                    "GPU %d does not answer: %.200s", number, error);
        return true;
    }
    return is_link_down(gpu, json_array_get(memory->gpus, (size_t)number), number, failure);
}

static bool is_link_down(const json_t *gpu, const json_t *before, int number,
                         struct failure *failure)
{
    int64_t down = number_in(before, "links") & ~number_in(gpu, "links");
    int     link = 0;

    if (down == 0 || json_object_get(gpu, "links") == NULL)
        return false;
    while ((down >> link & 1) == 0)
        link++;
    failure_set(failure, EXIT_CREATE, "nvidia-smi nvlink -s; reset the GPUs, or reboot",
                "NVLink %d of GPU %d is not active any more", link, number);
    return true;
}

/* Judges by the first process that may not hold GPUs. If their memory is free, it may be
 * another program that has only looked for GPUs; the launcher warns of it. */
static enum gate_verdict held(const json_t *found, const struct gate_memory *memory,
                              struct failure *failure)
{
    enum gate_verdict worst = GATE_WELL;
    const json_t     *holder;
    size_t            i;

    json_array_foreach(json_object_get(found, "holders"), i, holder)
    {
        if (may_hold(holder, memory))
            continue;
        if (!is_known_free(found, memory, json_object_get(holder, "gpus"))) {
            tell_holder(found, memory, holder, failure);
            return GATE_WAIT;
        }
        worst = GATE_RATHER;
    }
    return worst;
}

static bool is_known_free(const json_t *found, const struct gate_memory *memory,
                          const json_t *numbers)
{
    const json_t *number;
    size_t        i;

    json_array_foreach(numbers, i, number)
    {
        const int gpu = (int)json_integer_value(number);

        if (!knows_memory(found, memory, gpu) || more_in_use(found, memory, gpu) > SLACK)
            return false;
    }
    return i > 0;
}

/* "GPU 0,1 is still in use by pid 7 of ann, with 71234 MiB: python3 train.py" */
static void tell_holder(const json_t *found, const struct gate_memory *memory,
                        const json_t *holder, struct failure *failure)
{
    const json_t *number;
    char          gpus[64] = "", size[40] = "";
    int64_t       bytes = 0;
    size_t        i, used = 0;

    json_array_foreach(json_object_get(holder, "gpus"), i, number)
    {
        const int gpu = (int)json_integer_value(number);

        if (used < sizeof gpus)
            used += (size_t)snprintf(gpus + used, sizeof gpus - used, "%s%d", i > 0 ? "," : "",
                                     gpu);
        bytes += more_in_use(found, memory, gpu);
    }
    if (bytes > 0)
        snprintf(size, sizeof size, ", with %.0f MiB", (double)bytes / MIB);
    failure_set(failure, EXIT_CREATE, CLEAN,
                "GPU %s is still in use by pid %" PRId64 " of %.40s%s: %.200s", gpus,
                number_in(holder, "pid"), text_in(holder, "user"), size,
                text_in(holder, "command"));
}

static bool may_hold(const json_t *holder, const struct gate_memory *memory)
{
    const json_t *known;
    size_t        i;

    if (strncmp(text_in(holder, "command"), MPS, strlen(MPS)) == 0)
        return true;
    json_array_foreach(memory->holders, i,
                       known) if (number_in(known, "pid") == number_in(holder, "pid") &&
                                  strcmp(text_in(known, "command"),
                                         text_in(holder, "command")) == 0) return true;
    return false;
}

/* Its process may be another user's, or in another container. */
static bool is_full(const json_t *found, const bool *wanted, const struct gate_memory *memory,
                    struct failure *failure)
{
    int i;

    for (i = 0; i < GPU_MAX && memory->holders != NULL; i++) {
        int64_t bytes = wanted[i] ? more_in_use(found, memory, i) : 0;

        if (bytes <= SLACK)
            continue;
        failure_set(
            failure, EXIT_CREATE, "nvidia-smi, as root; " CLEAN,
            "the memory of GPU %d is not free: %.0f MiB more are in use than at first, by "
            "no process that this user can see",
            i, (double)bytes / MIB);
        return true;
    }
    return false;
}

/* Returns the bytes in use of that GPU beyond those at the first gate; 0 if either is not
 * known. */
static int64_t more_in_use(const json_t *found, const struct gate_memory *memory, int number)
{
    const json_t *now = json_array_get(json_object_get(found, "gpus"), (size_t)number);
    const json_t *before = json_array_get(memory->gpus, (size_t)number);
    int64_t       bytes = number_in(now, "used") - number_in(before, "used");

    return knows_memory(found, memory, number) && bytes > 0 ? bytes : 0;
}

static bool knows_memory(const json_t *found, const struct gate_memory *memory, int number)
{
    const json_t *now = json_array_get(json_object_get(found, "gpus"), (size_t)number);

    return json_object_get(now, "used") != NULL &&
           json_object_get(json_array_get(memory->gpus, (size_t)number), "used") != NULL;
}

static int64_t number_in(const json_t *gpu, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(gpu, key));
}

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

static void late(const json_t *found, double seconds, struct failure *failure)
{
    (void)found;
    failure_set(failure, EXIT_CREATE, "nvidia-smi; sudo dmesg | grep NVRM; sudo reboot",
                "the driver of the GPUs does not answer within %g s", seconds);
}

const struct gate_check gpus_check = {
    { "gpus", run }, GATE_DEVICES_S, 0, request, judge, late
};
