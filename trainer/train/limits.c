/* limits.c - see limits.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/limits.h"

static void note(FILE *notes, bool is_asked, const char *text);
static bool is_other(int asked, enum ds_dtype type);

void limits_tell(const struct ds_config *config, bool on_gpu, FILE *notes)
{
    const struct ds_zero *zero = &config->zero;
    const enum ds_dtype   type = ds_config_dtype(config);

    note(notes, !on_gpu && (zero->optimizer.device == DS_DEVICE_CPU ||
                            zero->param.device == DS_DEVICE_CPU),
         "offload to cpu: that is where all of it is");
    note(notes, is_other(config->communication_data_type, type),
         "communication_data_type: gradients travel in the model's type");
    note(notes, is_other(config->grad_accum_dtype, type),
         "grad_accum_dtype: gradients are added up in the model's type");
    note(notes, config->bf16.enabled && !config->bf16.check_grad_overflow,
         "check_grad_overflow: a step whose gradient is not finite is skipped anyway");
    note(notes, on_gpu && config->memory_breakdown, "memory_breakdown: of the host's memory");
}

static void note(FILE *notes, bool is_asked, const char *text)
{
    if (is_asked)
        fprintf(notes, "muster-train: %s\n", text);
}

static bool is_other(int asked, enum ds_dtype type)
{
    return asked != DS_UNSET && asked != (int)type;
}
