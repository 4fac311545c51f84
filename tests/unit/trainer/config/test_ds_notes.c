/* test_ds_notes.c - ds_config.json: what is taken with a note, and all problems at once
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/ds_config.h"

static struct ds_config *parse(const char *text, struct error *err)
{
    return ds_config_parse("ds.json", text, strlen(text), NULL, NULL, err);
}

/* For what must be right. */
static struct ds_config *parsed(const char *text)
{
    struct error      err = { "" };
    struct ds_config *config = parse(text, &err);

    if (config == NULL)
        fail_msg("%s: %s", text, err.text);
    return config;
}

/* A text that is taken, and all notes on it; "": none. */
static const char *const noted[][2] = {
    { "{\n\"checkpoint\": {\n\"load_universal\": true}}",
      "ds.json:3: checkpoint.load_universal: ignored: every checkpoint loads at any world size\n" },
    { "{\"fp16\": {\"loss_scale\": \"auto\"}, \"amp\": {\"enabled\": false}}",
      "ds.json:1: fp16.loss_scale: \"auto\" means 0.0 here, the default\n" },
    { "{\"train_batch_size\": \"auto\", \"steps_per_print\": \"auto\"}",
      "ds.json:1: train_batch_size: \"auto\" means that it follows from the other sizes\n"
      "ds.json:1: steps_per_print: \"auto\" means that it is not given\n" },
    { "{\"compression_training\": {\"layer_reduction\": {\"enabled\": false, \"x\": 1},"
      " \"weight_quantization\": {\"shared_parameters\": {\"enabled\": false},"
      " \"different_groups\": {\"a\": 1}}}}", "" },
    { "{\"cuda_visible_devices\": \"0,1\"}",
      "ds.json:1: cuda_visible_devices: ignored: the launcher chooses the GPUs\n" },
    { "{\"_comment\": 1, \"fp16\": {\"_\": [], \"_enabled\": true}}", "" },
    { "{\"wandb\": {\"enabled\": false}, \"comet\": {\"enabled\": false}, \"compile\": {},"
      " \"autotuning\": {\"enabled\": false}, \"flops_profiler\": null, \"fp8\": false}", "" },
    { "{\"wandb\": {\"enabled\": true},\n\"comet\": {\"enabled\": true}}",
      "ds.json:1: wandb: ignored: csv_monitor and tensorboard write files\n"
      "ds.json:2: comet: ignored: csv_monitor and tensorboard write files\n" },
    { "{\"flops_profiler\": {\"enabled\": true}, \"compile\": {\"backend\": \"inductor\"},"
      " \"comms_logger\": {\"enabled\": true}, \"comms_config\": {\"prof_all\": true}}",
      "ds.json:1: flops_profiler: ignored: muster-train has no profiler\n"
      "ds.json:1: compile: ignored: it is about PyTorch\n"
      "ds.json:1: comms_logger: ignored: communication is not logged\n"
      "ds.json:1: comms_config: ignored: communication is not logged\n" },
    { "{\"zero_optimization\": {\"zero_hpz_partition_size\": 0, \"mics_shard_size\": 1},"
      " \"steps_per_print\": 0, \"sequence_parallel_size\": false, \"sequence_parallel\": 1,"
      " \"tensor_parallel\": {\"autotp_size\": 1}}", "" },
    { "{\"zero_optimization\": {\"zero_hpz_partition_size\": -1, \"mics_shard_size\": 0,"
      " \"cpu_offload\": false, \"cpu_offload_param\": false,"
      " \"cpu_offload_use_pin_memory\": false},"
      " \"tensor_parallel\": {\"autotp_size\": 0}, \"sequence_parallel\": false}", "" },
    { "{\"zero_optimization\": {\"zero_hpz_partition_size\": 8, \"mics_shard_size\": 4,"
      " \"mics_hierarchical_params_gather\": true, \"cpu_offload_use_pin_memory\": true}}",
      "ds.json:1: zero_optimization.zero_hpz_partition_size: ignored: parameters are divided among "
      "all ranks\n"
      "ds.json:1: zero_optimization.mics_shard_size: ignored: parameters are divided among all "
      "ranks\n"
      "ds.json:1: zero_optimization.mics_hierarchical_params_gather: ignored: parameters are "
      "divided among all ranks\n"
      "ds.json:1: zero_optimization.cpu_offload_use_pin_memory: ignored: pin_memory in "
      "offload_optimizer counts\n" },
    { "{\"zero_optimization\": {\"sub_group_size\": 0, \"reduce_bucket_size\": 0,"
      " \"offload_param\": {\"buffer_count\": 0}}}",
      "ds.json:1: zero_optimization.sub_group_size: ignored: the optimizer handles one bucket at a "
      "time\n"
      "ds.json:1: zero_optimization.reduce_bucket_size: 0 means 5e8 here, the default\n"
      "ds.json:1: zero_optimization.offload_param.buffer_count: 0 means 5 here, the default\n" },
    { "{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"ratio\": 0.5,"
      " \"super_offload\": true}}}",
      "ds.json:1: zero_optimization.offload_optimizer.ratio: ignored: the whole state is "
      "offloaded\n"
      "ds.json:1: zero_optimization.offload_optimizer.super_offload: ignored: buckets go to the "
      "CPU as soon as they are reduced\n" },
    { "{\"zero_optimization\": {\"stage\": 3, \"cpu_offload\": true,\n"
      "\"cpu_offload_param\": true, \"offload_param\": null}}",
      "ds.json:1: zero_optimization.cpu_offload: means \"offload_optimizer\": {\"device\": "
      "\"cpu\"}\n"
      "ds.json:2: zero_optimization.cpu_offload_param: means \"offload_param\": {\"device\": "
      "\"cpu\"}\n" },
    { "{\"zero_optimization\": {\"stage3_gather_fp16_weights_on_model_save\": true}}",
      "ds.json:1: zero_optimization.stage3_gather_fp16_weights_on_model_save: ignored: --export "
      "writes the whole weights\n" },
    { "{\"zero_optimization\": false}", "" },
    { "{\n\"zero_optimization\": true}",
      "ds.json:2: zero_optimization: means {\"stage\": 1}\n" },
    { "{\"zero_optimization\": {\"stage\": 3, \"cpu_offload_params\": true}}",
      "ds.json:1: zero_optimization.cpu_offload_params: means \"offload_param\": {\"device\": "
      "\"cpu\"}\n" },
    { "{\"zero_optimization\": {\"stage\": 2, \"offload_param\": {\n\"device\": \"nvme\"}}}",
      "ds.json:2: zero_optimization.offload_param.device: ignored: parameters can be offloaded "
      "only in stage 3\n" },
    { "{\"zero_optimization\": {\n\"cpu_offload\": true}}",
      "ds.json:2: zero_optimization.cpu_offload: means \"offload_optimizer\": {\"device\": "
      "\"cpu\"}\n"
      "ds.json:2: zero_optimization.cpu_offload: ignored: the optimizer can be offloaded only in "
      "stages 1 to 3\n" },
    { "{\"zero_optimization\": {\"stage3_max_reuse_distance\": -1, \"sub_group_size\": 0.5}}",
      "ds.json:1: zero_optimization.stage3_max_reuse_distance: ignored: layers are gathered and "
      "released whole\n"
      "ds.json:1: zero_optimization.sub_group_size: ignored: the optimizer handles one bucket at a "
      "time\n" },
    { "{\"bf16\": {\"enabled\": true, \"loss_scale\": 0, \"loss_scale_window\": 1000,\n"
      "\"min_loss_scale\": 0.5, \"hysteresis\": 2, \"auto_cast\": true}}",
      "ds.json:2: bf16.min_loss_scale: ignored: bfloat16 needs no loss scale\n"
      "ds.json:2: bf16.auto_cast: ignored: tokens are integers\n" },
    { "{\"sparse_gradients\": true, \"disable_allgather\": true,\n"
      "\"eigenvalue\": {\"enabled\": true}, \"hybrid_engine\": {\"enabled\": true},\n"
      "\"nebula\": {\"enabled\": true}, \"pipeline\": {\"stages\": 4}}",
      "ds.json:1: sparse_gradients: ignored: gradients are reduced whole: the same sum\n"
      "ds.json:1: disable_allgather: ignored: DeepSpeed does not use it, either\n"
      "ds.json:2: eigenvalue: ignored: only quantize_training uses it\n"
      "ds.json:2: hybrid_engine: ignored: a training generates no text\n"
      "ds.json:3: nebula: ignored: checkpoints are in --checkpoint_dir\n"
      "ds.json:3: pipeline: ignored: each rank computes all layers\n" },
    { "{\"max_grad_norm\": 1.0}",
      "ds.json:1: max_grad_norm: ignored: DeepSpeed does not know it here; gradient_clipping "
      "clips\n" },
    { "{\"fp16\": {\"enabled\": false, \"auto_cast\": true, \"fp16_master_weights_and_grads\":"
      " true}, \"bf16\": {\"bf16_optimizer_states\": false}}",
      "ds.json:1: fp16.auto_cast: ignored: its section is not enabled\n"
      "ds.json:1: fp16.fp16_master_weights_and_grads: ignored: its section is not enabled\n" },
    { "{\"fp16\": {\"enabled\": true, \"auto_cast\": true}}",
      "ds.json:1: fp16.auto_cast: ignored: tokens are integers\n" },
    { "{\"train_batch_size\": \"8\", \"optimizer\": {\"type\": \"Adam\",\n"
      "\"params\": {\"lr\": \"1e-4\"}}}",
      "ds.json:1: train_batch_size: the string is taken as a number\n"
      "ds.json:2: optimizer.params.lr: the string is taken as a number\n" },
    { "{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": 2e-5}}, \"scheduler\":"
      " {\"type\": \"WarmupLR\",\n\"params\": {\"warmup_max_lr\": \"auto\"}}}",
      "ds.json:2: scheduler.params.warmup_max_lr: \"auto\" means 2e-05 here, as "
      "optimizer.params.lr\n" },
    { "{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": \"2e-5\"}}, \"scheduler\":"
      " {\"type\": \"WarmupDecayLR\",\n\"params\": {\"warmup_max_lr\": \"auto\","
      " \"total_num_steps\": \"auto\"}}}",
      "ds.json:2: scheduler.params.warmup_max_lr: \"auto\" means 2e-05 here, as "
      "optimizer.params.lr\n"
      "ds.json:1: optimizer.params.lr: the string is taken as a number\n" },
    { "{\"scheduler\": {\"type\": \"WarmupLR\", \"params\": {\"warmup_max_lr\": \"auto\"}}}",
      "ds.json:1: scheduler.params.warmup_max_lr: \"auto\" means 0.001 here, as "
      "optimizer.params.lr\n" },
};

static void test_notes(void **state)
{
    struct ds_config *config;
    char              all[1024];
    size_t            i, j;

    (void)state;
    for (i = 0; i < sizeof noted / sizeof noted[0]; i++) {
        config = parsed(noted[i][0]);
        all[0] = '\0';
        for (j = 0; j < config->notes.count; j++)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n", config->notes.item[j]);
        if (strcmp(all, noted[i][1]) != 0)
            fail_msg("%s: '%s' is not '%s'", noted[i][0], all, noted[i][1]);
        ds_config_free(config);
    }
}

/* The values of older or unusual forms. */
static void test_forms(void **state)
{
    struct ds_config *config =
        parsed("{\"zero_optimization\": {\"stage\": 3, \"cpu_offload\": true,"
               " \"cpu_offload_param\": true, \"reduce_bucket_size\": 0},"
               " \"gradient_clipping\": \"0.5\", \"train_batch_size\": \"64\","
               " \"steps_per_print\": 0}");

    (void)state;
    assert_int_equal(config->zero.optimizer.device, DS_DEVICE_CPU);
    assert_int_equal(config->zero.param.device, DS_DEVICE_CPU);
    assert_int_equal(config->zero.reduce_bucket_size, 500000000);
    assert_float_equal(config->gradient_clipping, 0.5, 0);
    assert_int_equal(config->train_batch_size, 64);
    assert_int_equal(config->steps_per_print, DS_UNSET);
    ds_config_free(config);
    config = parsed("{\"zero_optimization\": {\"stage\": 1, \"cpu_offload\": false}}");
    assert_int_equal(config->zero.optimizer.device, DS_DEVICE_NONE);
    ds_config_free(config);
    config = parsed("{\"zero_optimization\": true}");
    assert_int_equal(config->zero.stage, 1);
    ds_config_free(config);
    config = parsed("{\"zero_optimization\": {\"stage\": 2, \"offload_param\":"
                    " {\"device\": \"cpu\"}}}");
    assert_int_equal(config->zero.param.device, DS_DEVICE_NONE);
    ds_config_free(config);
}

/* Who loads weights asks for a rate that somebody has given: "auto" alone gives none. */
static void test_auto_rate(void **state)
{
    struct ds_config *config;

    (void)state;
    config = parsed("{\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": \"auto\"}},"
                    " \"scheduler\": {\"type\": \"WarmupLR\","
                    " \"params\": {\"warmup_max_lr\": \"auto\"}}}");
    assert_false(config->optimizer.lr_is_given);
    assert_true(isnan(config->schedule.warmup_max_lr));
    assert_float_equal(schedule_lr(&config->schedule, config->optimizer.lr, 5000), 1e-3, 0);
    ds_config_free(config);
    config = parsed("{\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 2e-5}},"
                    " \"scheduler\": {\"type\": \"WarmupDecayLR\","
                    " \"params\": {\"warmup_max_lr\": \"auto\", \"total_num_steps\": 5}}}");
    assert_true(config->optimizer.lr_is_given);
    assert_float_equal(config->schedule.warmup_max_lr, 2e-5, 0);
    ds_config_free(config);
}

/* Everything that is wrong is said at once. */
static void test_problems(void **state)
{
    static const char text[] = "{\"train_batch_size\": 8, \"trian\": 1,\n"
                               "\"amp\": {\"enabled\": true},\n"
                               "\"zero_optimization\": {\"stage\": 4, \"stag\": 2},\n"
                               "\"aio\": {\"queue_depth\": 65, \"block_size\": 2e9}}";
    static const char bad[] = "{\"train_batch_size\": -1,\n\"optimizer\": {\"type\": \"Lamb\","
                              " \"params\": {\"max_coeff\": 1}}}";
    static const char *const wanted[] = {
        "ds.json:1: trian: unknown key",
        "ds.json:2: amp: not supported: write \"fp16\": {\"enabled\": true}",
        "ds.json:3: zero_optimization.stag: unknown key (did you mean \"stage\"?)",
        "ds.json:3: zero_optimization.stage: must be 0 to 3",
        "ds.json:4: aio.queue_depth: must be at most 64",
        "ds.json:4: aio.block_size: must be at most 1073741824",
    };
    struct strlist problems = { 0 };
    struct error   err;
    size_t         i;

    (void)state;
    assert_null(ds_config_parse("ds.json", text, strlen(text), NULL, &problems, &err));
    assert_string_equal(err.text, "ds.json: 6 problems");
    assert_int_equal(problems.count, 6);
    for (i = 0; i < 6; i++)
        assert_string_equal(problems.item[i], wanted[i]);
    strlist_clear(&problems);

    /* Nothing follows from a value that is not understood. */
    assert_null(ds_config_parse("ds.json", bad, strlen(bad), NULL, &problems, &err));
    assert_int_equal(problems.count, 2);
    assert_string_equal(problems.item[1],
                        "ds.json:2: optimizer.type: \"Lamb\" is not one of Adam|AdamW");
    strlist_clear(&problems);

    assert_null(parse(text, &err));
    assert_string_equal(err.text, "ds.json:1: trian: unknown key (the first of 6 problems)");
    assert_null(ds_config_parse("ds.json", "{\"a\": 1}", 8, NULL, &problems, &err));
    assert_string_equal(err.text, "ds.json:1: a: unknown key");
    assert_int_equal(problems.count, 0);
    assert_null(ds_config_parse("ds.json", "{,}", 3, NULL, &problems, &err));
    assert_int_equal(problems.count, 0);
}

static void test_most_problems(void **state)
{
    struct strlist problems = { 0 };
    struct error   err;
    char          *text;
    size_t         size, i;
    FILE          *out = open_memstream(&text, &size);

    (void)state;
    for (i = 0; i <= 2 * DS_PROBLEMS_MAX; i++)
        fprintf(out, "%c\"xyzzyxyzzy%zu\": 1\n", i == 0 ? '{' : ',', i);
    fputc('}', out);
    fclose(out);
    assert_null(ds_config_parse("ds.json", text, size, NULL, &problems, &err));
    assert_string_equal(err.text, "ds.json: 129 problems, of which these are the first 64");
    assert_int_equal(problems.count, DS_PROBLEMS_MAX);
    assert_string_equal(problems.item[63], "ds.json:64: xyzzyxyzzy63: unknown key");
    strlist_clear(&problems);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_auto_rate),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_most_problems),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
