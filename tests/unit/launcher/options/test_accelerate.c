/* test_accelerate.c - the configuration file of accelerate launch: the variables and options that
 * become of it, which are those of accelerate's own utils/launch.py, and what it may not say
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options/accelerate.h"

static struct options options;
static struct error   err;

static int parse(const char *text)
{
    options_clear(&options);
    options.num_nodes = options.num_gpus = -1;
    err.text[0] = '\0';
    return accelerate_parse(&options, "my.yaml", text, strlen(text), &err);
}

/* expected: a line for each variable, in any order; there must be no others. */
static void assert_env(const char *text, const char *expected)
{
    struct strlist env = { 0 };
    const char    *line;
    size_t         i, lines = 0;
    char          *one;

    if (parse(text) < 0)
        fail_msg("%s", err.text);
    for (i = 0; i < options.env.count; i++) { /* the last value of a name counts */
        one = strdup(options.env.item[i]);
        *strchr(one, '=') = '\0';
        env_set(&env, one, strchr(options.env.item[i], '=') + 1);
        free(one);
    }
    for (line = expected; *line != '\0'; line += strcspn(line, "\n") + 1, lines++) {
        one = strndup(line, strcspn(line, "\n"));
        if (!strlist_has(&env, one))
            fail_msg("no %s", one);
        free(one);
    }
    assert_int_equal(env.count, lines);
    strlist_clear(&env);
}

static void deepspeed(void **state)
{
    (void)state;
    assert_env("compute_environment: LOCAL_MACHINE\n"
               "debug: true\n"
               "deepspeed_config:\n"
               "  deepspeed_config_file: ds.json\n"
               "  deepspeed_multinode_launcher: pdsh\n"
               "  deepspeed_hostfile: hosts\n"
               "  deepspeed_exclusion_filter: te2\n"
               "  deepspeed_moe_layer_cls_names: MixtralSparseMoeBlock\n"
               "  gradient_accumulation_steps: 4\n"
               "  gradient_clipping: 0.3\n"
               "  offload_optimizer_device: NVME\n"
               "  offload_optimizer_nvme_path: /Local\n"
               "  offload_param_device: none\n"
               "  zero3_init_flag: true\n"
               "  zero3_save_16bit_model: True\n"
               "  zero_stage: 3\n"
               "distributed_type: DEEPSPEED\n"
               "downcast_bf16: 'no'\n"
               "enable_cpu_affinity: false\n"
               "machine_rank: 1\n"
               "main_process_ip: 10.0.0.1\n"
               "main_process_port: 29501\n"
               "main_training_function: main\n"
               "mixed_precision: bf16\n"
               "num_machines: 2\n"
               "num_processes: 8\n"
               "rdzv_backend: static\n"
               "same_network: true\n"
               "tpu_env: []\n"
               "tpu_use_cluster: false\n"
               "tpu_name: null\n"
               "use_cpu: false\n",
               "ACCELERATE_USE_DEEPSPEED=true\n"
               "ACCELERATE_MIXED_PRECISION=bf16\n"
               "ACCELERATE_DEBUG_MODE=true\n"
               "ACCELERATE_DEEPSPEED_CONFIG_FILE=ds.json\n"
               "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES=MixtralSparseMoeBlock\n"
               "ACCELERATE_GRADIENT_ACCUMULATION_STEPS=4\n"
               "ACCELERATE_GRADIENT_CLIPPING=0.3\n"
               "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE=nvme\n"
               "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH=/Local\n"
               "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE=none\n"
               "ACCELERATE_DEEPSPEED_ZERO3_INIT=true\n"
               "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL=true\n"
               "ACCELERATE_DEEPSPEED_ZERO_STAGE=3\n"
               "ACCELERATE_CONFIG_DS_FIELDS=deepspeed_config_file,deepspeed_multinode_launcher,"
               "deepspeed_hostfile,deepspeed_exclusion_filter,deepspeed_moe_layer_cls_names,"
               "gradient_accumulation_steps,gradient_clipping,offload_optimizer_device,"
               "offload_optimizer_nvme_path,offload_param_device,zero3_init_flag,"
               "zero3_save_16bit_model,zero_stage,mixed_precision\n");
    assert_int_equal(options.processes, 8);
    assert_int_equal(options.num_nodes, 2);
    assert_string_equal(options.master_addr, "10.0.0.1");
    assert_int_equal(options.master_port, 29501);
    assert_string_equal(options.hostfile, "hosts");
    assert_string_equal(options.exclude, "te2");
}

/* What the file leaves out is as accelerate has it. */
static void fully_sharded(void **state)
{
    (void)state;
    assert_env("{\"distributed_type\": \"FSDP\", \"num_processes\": -1, \"main_process_port\": 0,\n"
               "\"fsdp_config\": {\"version\": 2, \"fsdp_sharding_strategy\": \"NO_SHARD\",\n"
               " \"fsdp_transformer_layer_cls_to_wrap\": \"Qwen2DecoderLayer\",\n"
               " \"fsdp_offload_params\": true, \"min_num_params\": 2000},\n"
               "\"deepspeed_config\": {\"zero_stage\": 3}}",
               "ACCELERATE_USE_FSDP=true\n"
               "ACCELERATE_MIXED_PRECISION=no\n"
               "FSDP_VERSION=2\n"
               "FSDP_SHARDING_STRATEGY=NO_SHARD\n"
               "FSDP_TRANSFORMER_CLS_TO_WRAP=Qwen2DecoderLayer\n"
               "FSDP_RESHARD_AFTER_FORWARD=true\n"
               "FSDP_OFFLOAD_PARAMS=true\n"
               "FSDP_MIN_NUM_PARAMS=2000\n"
               "FSDP_FORWARD_PREFETCH=false\n"
               "FSDP_USE_ORIG_PARAMS=true\n"
               "FSDP_CPU_RAM_EFFICIENT_LOADING=true\n"
               "FSDP_SYNC_MODULE_STATES=true\n"
               "FSDP_ACTIVATION_CHECKPOINTING=false\n");
    assert_int_equal(options.processes, 0);
    assert_int_equal(options.master_port, 0);
}

static void other_types(void **state)
{
    (void)state;
    assert_env("distributed_type: 'NO'\nfp16: true\nuse_cpu: true\nenable_cpu_affinity: true\n"
               "dynamo_backend: inductor\n",
               "ACCELERATE_MIXED_PRECISION=fp16\nACCELERATE_USE_CPU=true\n"
               "ACCELERATE_CPU_AFFINITY=1\nACCELERATE_DYNAMO_BACKEND=INDUCTOR\n");
    assert_int_equal(options.processes, 1);
    assert_env("distributed_type: MULTI_GPU\ndynamo_config:\n  dynamo_mode: reduce-overhead\n"
               "  use_fullgraph: true\nparallelism_config:\n  parallelism_config_tp_size: 4\n",
               "ACCELERATE_MIXED_PRECISION=no\nACCELERATE_DYNAMO_MODE=reduce-overhead\n"
               "ACCELERATE_DYNAMO_USE_FULLGRAPH=true\nACCELERATE_USE_PARALLELISM_CONFIG=true\n"
               "PARALLELISM_CONFIG_TP_SIZE=4\nPARALLELISM_CONFIG_DP_REPLICATE_SIZE=1\n"
               "PARALLELISM_CONFIG_DP_SHARD_SIZE=1\nPARALLELISM_CONFIG_CP_SIZE=1\n"
               "PARALLELISM_CONFIG_CP_BACKEND=torch\nPARALLELISM_CONFIG_SP_SIZE=1\n"
               "PARALLELISM_CONFIG_SP_BACKEND=deepspeed\n");
    assert_env("distributed_type: MEGATRON_LM\nmegatron_lm_config:\n  megatron_lm_pp_degree: 2\n"
               "  megatron_lm_gradient_clipping: 1\n",
               "ACCELERATE_MIXED_PRECISION=no\nACCELERATE_USE_MEGATRON_LM=true\n"
               "MEGATRON_LM_TP_DEGREE=1\nMEGATRON_LM_PP_DEGREE=2\n"
               "MEGATRON_LM_USE_CUSTOM_FSDP=false\nMEGATRON_LM_GRADIENT_CLIPPING=1\n");
    assert_env("distributed_type: MULTI_CPU\nmpirun_config:\n  mpirun_hostfile: m\n"
               "  mpirun_ccl: '2'\n",
               "ACCELERATE_MIXED_PRECISION=no\nCCL_WORKER_COUNT=2\n");
    assert_string_equal(options.hostfile, "m");
}

static void eight_bits(void **state)
{
    (void)state;
    assert_env("distributed_type: MULTI_GPU\nmixed_precision: fp8\nfp8_config:\n  backend: TE\n"
               "  fp8_format: E4M3\n  amax_history_len: 2048\n"
               "  override_linear_precision: [true, false, true]\n  interval: 0.1\n",
               "ACCELERATE_MIXED_PRECISION=fp8\nACCELERATE_FP8_BACKEND=TE\n"
               "ACCELERATE_FP8_MARGIN=0\nACCELERATE_FP8_INTERVAL=0.1\nACCELERATE_FP8_FORMAT=E4M3\n"
               "ACCELERATE_FP8_USE_AUTOCAST_DURING_EVAL=false\n"
               "ACCELERATE_FP8_AMAX_HISTORY_LEN=2048\n"
               "ACCELERATE_FP8_AMAX_COMPUTE_ALGO=most_recent\n"
               "ACCELERATE_FP8_OVERRIDE_FPROP=true\nACCELERATE_FP8_OVERRIDE_DGRAD=false\n"
               "ACCELERATE_FP8_OVERRIDE_WGRAD=true\nACCELERATE_FP8_OPT_LEVEL=O2\n"
               "ACCELERATE_FP8_ENABLE_FSDP_FLOAT8_ALL_GATHER=1\n"
               "ACCELERATE_FP8_PAD_INNER_DIM=1\n");
    assert_env("distributed_type: MULTI_GPU\nfp8_config:\n  fp8_margin: 3\n",
               "ACCELERATE_MIXED_PRECISION=no\n");
}

static void gpus(void **state)
{
    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_env("distributed_type: MULTI_GPU\ngpu_ids: all\n", "ACCELERATE_MIXED_PRECISION=no\n");
    assert_null(getenv("CUDA_VISIBLE_DEVICES"));
    assert_env("distributed_type: MULTI_GPU\ngpu_ids: 1,3\n", "ACCELERATE_MIXED_PRECISION=no\n");
    assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), "1,3");
    assert_env("distributed_type: MULTI_GPU\ngpu_ids: 2\n", "ACCELERATE_MIXED_PRECISION=no\n");
    assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), "2");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void refused(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "", "my.yaml:1: the document is empty" },
        { "a: [1", "my.yaml:" },
        { "just words", "my.yaml: has no distributed_type; is it from accelerate config?" },
        { "- distributed_type", "my.yaml: has no distributed_type" },
        { "params:\n  fusion_threshold_mb: 32\n", "my.yaml: this file is horovodrun's" },
        { "num_processes: 2\n", "my.yaml: has no distributed_type" },
        { "distributed_type: XLA\n", "my.yaml: distributed_type: muster can start NO, MULTI_GPU" },
        { "distributed_type: [FSDP]\n", "my.yaml: has no distributed_type" },
        { "distributed_type: NO\ncompute_environment: AMAZON_SAGEMAKER\n",
          "my.yaml: compute_environment: muster starts hosts that it reaches by SSH" },
        { "distributed_type: NO\nnum_procs: 2\n", "my.yaml: num_procs: muster does not know this" },
        { "distributed_type: NO\ntpu_name: t\n", "my.yaml: tpu_name: muster does not know this" },
        { "distributed_type: NO\ntpu_use_sudo: true\n", "my.yaml: tpu_use_sudo: " },
        { "distributed_type: NO\nnum_processes: many\n",
          "my.yaml: num_processes: 'many' is not a number" },
        { "distributed_type: NO\nnum_machines: [2]\n", "my.yaml: num_machines: should be one" },
        { "distributed_type: NO\nmain_process_port: 70000\n", "my.yaml: main_process_port: " },
        { "distributed_type: NO\nmain_process_ip: 1234\n", "my.yaml: main_process_ip: '1234' is" },
        { "distributed_type: NO\ngpu_ids: [0, 1]\n", "my.yaml: gpu_ids: should be all, or a list" },
        { "distributed_type: MULTI_CPU\nmpirun_config:\n  path: /bin\n", "my.yaml: path: muster" },
        { "distributed_type: FSDP\nfsdp_config: 2\n", "my.yaml: fsdp_config: should be a section" },
        { "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: [2]\n",
          "my.yaml: fsdp_version: should be one value" },
        { "distributed_type: NO\nmixed_precision: fp8\nfp8_config:\n"
          "  override_linear_precision: [1, 2]\n",
          "my.yaml: override_linear_precision: should be one value" },
        { "distributed_type: NO\nmixed_precision: fp8\nfp8_config:\n"
          "  override_linear_precision: [1, 2, []]\n",
          "my.yaml: override_linear_precision: should be three of true and false" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(cases[i].text), -1);
        if (strncmp(err.text, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("'%s': %s", cases[i].text, err.text);
        assert_int_equal(options.env.count, 0); /* nothing of a bad file is used */
    }
}

static int clear(void **state)
{
    (void)state;
    options_clear(&options);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deepspeed),     cmocka_unit_test(fully_sharded),
        cmocka_unit_test(other_types),   cmocka_unit_test(eight_bits),
        cmocka_unit_test(gpus),          cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests_name("accelerate", tests, NULL, clear);
}
