/* limits.c - see limits.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/limits.h"

#define SUM_MANY 128 /* passes: their sum in bfloat16 is off by about 1 % from here on */

#define NO_EFFECT "ignored: "
#define ON_CPU NO_EFFECT "without a GPU, all data is in host memory"

static void note_if(struct ds_config *config, bool is_asked, const char *path, const char *text);
static bool is_other(int asked, enum ds_dtype type);

void limits_note(struct ds_config *config, bool on_gpu, bool recomputes)
{
    const struct ds_zero *zero = &config->zero;
    const enum ds_dtype   type = ds_config_dtype(config);

    note_if(config, !on_gpu && zero->optimizer.device == DS_DEVICE_CPU,
            "zero_optimization.offload_optimizer.device", ON_CPU);
    note_if(config, !on_gpu && zero->param.device == DS_DEVICE_CPU,
            "zero_optimization.offload_param.device", ON_CPU);
    note_if(config, !on_gpu && config->cpu_checkpointing,
            "activation_checkpointing.cpu_checkpointing", ON_CPU);
    note_if(config, on_gpu && config->cpu_checkpointing && !recomputes,
            "activation_checkpointing.cpu_checkpointing",
            NO_EFFECT "only with --activation_checkpointing are inputs of blocks kept");
    note_if(config, is_other(config->communication_data_type, type), "communication_data_type",
            NO_EFFECT "gradients are sent in the model's type");
    note_if(config,
            is_other(config->grad_accum_dtype, type) && config->grad_accum_dtype != DS_FP32,
            "data_types.grad_accum_dtype", NO_EFFECT "gradients are summed in fp32");
    note_if(config,
            type == DS_BF16 && config->grad_accum_dtype == DS_UNSET &&
                config->accumulation_steps >= SUM_MANY,
            "gradient_accumulation_steps",
            "so many gradients are added in bf16, which loses the small ones; "
            "data_types.grad_accum_dtype fp32 does not");
    note_if(config, on_gpu && config->memory_breakdown, "memory_breakdown",
            "it reports the host's memory, not the GPU's");
}

static void note_if(struct ds_config *config, bool is_asked, const char *path, const char *text)
{
    if (is_asked)
        ds_config_note(config, path, text);
}

static bool is_other(int asked, enum ds_dtype type)
{
    return asked != DS_UNSET && asked != (int)type;
}
