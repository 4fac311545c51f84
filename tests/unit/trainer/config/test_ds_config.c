/* test_ds_config.c - ds_config.json: what is taken, what is refused and in which words
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/ds_config.h"
#include "config/ds_table.h"
#include "ds/elastic.h"

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

static void test_defaults(void **state)
{
    struct ds_config *config = parsed("{}");

    (void)state;
    assert_int_equal(config->train_batch_size, DS_UNSET);
    assert_int_equal(config->steps_per_print, DS_UNSET);
    assert_true(config->gradient_clipping == 1.0);
    assert_int_equal(config->communication_data_type, DS_UNSET);
    assert_false(config->optimizer.given);
    assert_true(config->optimizer.lr == 1e-3);
    assert_true(config->optimizer.betas[1] == 0.999);
    assert_true(config->optimizer.adam_w_mode);
    assert_int_equal(config->schedule.type, SCHEDULE_CONSTANT);
    assert_int_equal(config->fp16.initial_scale_power, 16);
    assert_int_equal(config->zero.reduce_bucket_size, 500000000);
    assert_true(config->zero.optimizer.pin_memory);
    assert_string_equal(config->csv_monitor.job_name, "DeepSpeedJobName");
    assert_int_equal(ds_config_dtype(config), DS_FP32);
    assert_int_equal(config->notes.count, 0);
    ds_config_free(config);
}

/* What HelloDeepSpeed passes, with what people add: comments, a last comma, 5e8. */
static void test_hello(void **state)
{
    struct ds_config *config = parsed("{\n"
                                      "  // a comment with a \" in it\n"
                                      "  \"train_micro_batch_size_per_gpu\": 8, # another\n"
                                      "  \"optimizer\": {\"type\": \"adam\", /* one,\n"
                                      "     more */ \"params\": {\"lr\": 1e-4,},},\n"
                                      "  \"bfloat16\": {\"enabled\": true},\n"
                                      "  \"zero_optimization\": {\n"
                                      "    \"stage\": 1,\n"
                                      "    \"reduce_bucket_size\": 2e8,\n"
                                      "    \"prefetch_bucket_size\": 7,\n"
                                      "    \"offload_optimizer\": {\"device\": \"cpu\"}\n"
                                      "  },\n"
                                      "}\n");

    (void)state;
    assert_int_equal(config->micro_batch_size, 8);
    assert_true(config->optimizer.given);
    assert_int_equal(config->optimizer.type, DS_ADAM);
    assert_true(config->optimizer.lr == 1e-4);
    assert_int_equal(ds_config_dtype(config), DS_BF16);
    assert_int_equal(config->zero.stage, 1);
    assert_int_equal(config->zero.reduce_bucket_size, 200000000);
    assert_int_equal(config->notes.count, 1);
    assert_string_equal(config->notes.item[0],
                        "ds.json:10: zero_optimization.prefetch_bucket_size: ignored: "
                        "one layer is gathered ahead");
    assert_int_equal(config->zero.optimizer.device, DS_DEVICE_CPU);
    assert_int_equal(config->zero.param.device, DS_DEVICE_NONE);
    ds_config_free(config);
}

static void test_scheduler_and_monitors(void **state)
{
    struct ds_config *config =
        parsed("{\"scheduler\": {\"type\": \"WarmupDecayLR\", \"params\":"
               " {\"total_num_steps\": 1e4, \"warmup_type\": \"linear\"}},"
               " \"tensorboard\": {\"enabled\": true, \"output_path\": \"runs\"},"
               " \"optimizer\": {\"type\": \"AdamW\"}}");

    (void)state;
    assert_int_equal(config->schedule.type, SCHEDULE_WARMUP_DECAY);
    assert_int_equal(config->schedule.total_num_steps, 10000);
    assert_int_equal(config->schedule.warmup_num_steps, 1000);
    assert_int_equal(config->schedule.warmup_type, SCHEDULE_LINEAR);
    assert_true(isnan(config->schedule.warmup_max_lr));
    assert_true(config->tensorboard.enabled);
    assert_string_equal(config->tensorboard.output_path, "runs");
    ds_config_free(config);
}

/* Every default is a value of its own kind, and is taken when it is given. */
static void test_table(void **state)
{
    char              text[512];
    struct ds_config *config;
    struct error      err;
    size_t            i;

    (void)state;
    for (i = 0; i < ds_rows; i++) {
        const char *path = ds_table[i].path, *dot = strchr(path, '.');
        char        open[256] = "", close[8] = "}";

        if (ds_table[i].schedulers != 0 || strcmp(ds_table[i].value, "null") == 0)
            continue;
        while (dot != NULL) {
            snprintf(open + strlen(open), sizeof open - strlen(open), "\"%.*s\": {",
                     (int)(dot - path), path);
            strcat(close, "}");
            path = dot + 1;
            dot = strchr(path, '.');
        }
        snprintf(text, sizeof text, "{%s\"%s\": %s%s", open, path, ds_table[i].value, close);
        config = parse(text, &err);
        /* Three are only half of what is needed. */
        if (config == NULL && strstr(err.text, "is missing") == NULL)
            fail_msg("%s: %s", text, err.text);
        if (config != NULL)
            assert_int_equal(config->notes.count, 0);
        ds_config_free(config);
    }
}

/* A text, and a part of what is said of it. */
static const char *const refused[][2] = {
    { "", "ds.json:1: " },
    { "[]", "outermost value is not an object" },
    { "{\n\"a\": 1,,\n}", "ds.json:2: " },
    { "{,}", "ds.json:1: " },
    { "{} /* ", "ds.json:1: the comment has no end" },
    { "{\"fp16\": {}, \"fp16\": {}}", "duplicate object key" },
    { "{\n\n\"zero_optimisation\": {}}",
      "ds.json:3: zero_optimisation: unknown key (did you mean "
      "\"zero_optimization\"?)" },
    { "{\"stage\": 2}", "it is known as zero_optimization.stage" },
    { "{\"zero_optimization\": {\n\"stag\": 2}}",
      "ds.json:2: zero_optimization.stag: unknown key (did you mean \"stage\"?)" },
    { "{\"fp16\": {\"xyzzyxyzzy\": 1}}", "fp16.xyzzyxyzzy: unknown key" },
    { "{\"train_batch_size\": 0}",
      "ds.json:1: train_batch_size: 0 is not an integer of at least 1" },
    { "{\"train_batch_size\": 1.5}", "1.5 is not an integer of at least 1" },
    { "{\"train_batch_size\": \"8.5\"}", "8.5 is not an integer of at least 1" },
    { "{\"train_batch_size\": \"8 a\"}", "\"8 a\" is not an integer of at least 1" },
    { "{\"fp16\": {\"enabled\": \"1\"}}", "\"1\" is not true or false" },
    { "{\"train_batch_size\": true}", "true is not an integer of at least 1" },
    { "{\"gradient_clipping\": -1}", "-1 is not a number of at least 0" },
    { "{\"fp16\": {\"enabled\": 1}}", "fp16.enabled: 1 is not true or false" },
    { "{\"fp16\": []}", "[] is not an object" },
    { "{\"communication_data_type\": \"fp8\"}", "\"fp8\" is not one of fp32|fp16|bf16" },
    { "{\"fp16\": {\"enabled\": true}, \"bf16\": {\"enabled\": true}}",
      "fp16 is enabled as well: choose one" },
    { "{\"bf16\": {}, \"bfloat16\": {}}", "given twice" },
    { "{\"fp16\": {\"enabled\": true},\n\"bfloat16\": {\n\"enabled\": true}}",
      "ds.json:3: bf16.enabled: fp16 is enabled as well" },
    { "{\"fp16\": {\"min_loss_scale\": 0, \"enabled\": true}}", "must be more than 0" },
    { "{\"fp16\": {\"initial_scale_power\": 127}}", "must be at most 126" },
    { "{\"data_types\": {\"param_dtype\": \"bf16\"}}",
      "contradicts fp16.enabled and bf16.enabled" },
    { "{\"zero_optimization\": {\"stage\": 4}}", "stage: must be 0 to 3" },
    { "{\"zero_optimization\": 1}", "zero_optimization: 1 is not an object" },
    { "{\"zero_optimization\": {\"allgather_bucket_size\": 5}}", "must be even" },
    { "{\n\"zero_optimization\": {\n\"cpu_offload\": true, \"offload_optimizer\": {}}}",
      "ds.json:3: zero_optimization.cpu_offload: offload_optimizer is given as well: remove the "
      "older cpu_offload" },
    { "{\"zero_optimization\": {\"cpu_offload_param\": 1}}",
      "cpu_offload_param: 1 is not true or false" },
    { "{\"zero_optimization\": {\"stage\": 3, \"cpu_offload_param\": true,\n"
      "\"cpu_offload_params\": true}}",
      "ds.json:2: zero_optimization.cpu_offload_params: offload_param is given as well: remove the "
      "older cpu_offload_params" },
    { "{\"zero_optimization\": {\"zero_quantized_weights\": true}}",
      "zero_quantized_weights: only false is supported" },
    { "{\"zero_optimization\": {\"mics_shard_size\": \"all\"}}",
      "mics_shard_size: \"all\" is not a whole number" },
    { "{\"zero_optimization\": {\"zenflow\": {\"topk_ratio\": 0.1}}}",
      "zenflow: not supported: offload_optimizer alone offloads without delay" },
    { "{\"fp16\": {\"enabled\": true, \"fp16_master_weights_and_grads\": true}}",
      "fp16_master_weights_and_grads: only false is supported" },
    { "{\"sequence_parallel_size\": 2}", "sequence_parallel_size: only 1 is supported" },
    { "{\"sequence_parallel\": true}", "sequence_parallel: not supported: remove it" },
    { "{\"fp8\": {\"enabled\": true}}", "fp8: not supported: write \"bf16\": {\"enabled\": true}" },
    { "{\"tensor_parallel\": {\"autotp_size\": 2}}", "tensor_parallel: not supported: remove it" },
    { "{\"autotuning\": {\"enabled\": true}}", "autotuning: not supported: remove it" },
    { "{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"nvme\"}}}",
      "nvme_path is missing" },
    { "{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"buffer_count\": 33}}}",
      "buffer_count: must be at most 32" },
    { "{\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"buffer_count\": -1}}}",
      "-1 is not an integer of at least 1" },
    { "{\"aio\": {\"queue_depth\": 65}}", "aio.queue_depth: must be at most 64" },
    { "{\"aio\": {\"block_size\": 2e9}}", "aio.block_size: must be at most 1073741824" },
    { "{\"zero_optimization\": {\"stage\": 2}, \"prescale_gradients\": true}",
      "stage 2 with reduce_scatter" },
    { "{\"gradient_predivide_factor\": 0}", "must not be 0" },
    { "{\"zero_optimization\": {\"stage\": 3}, \"gradient_allreduce_op\": \"sum\"}",
      "stage 3 does not support sum" },
    { "{\"optimizer\": {}}", "optimizer: type is missing" },
    { "{\"optimizer\": {\"type\": \"Lamb\"}}", "\"Lamb\" is not one of Adam|AdamW" },
    { "{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"max_grad_norm\": 1}}}",
      "use gradient_clipping" },
    { "{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"betas\": [0.9]}}}",
      "[0.9] is not a list of two numbers" },
    { "{\"optimizer\": {\"type\": \"Adam\", \"params\": {\"amsgrad\": true}}}",
      "amsgrad: only false is supported" },
    { "{\"scheduler\": {}}", "scheduler: type is missing" },
    { "{\"scheduler\": {\"type\": \"CosineLR\"}}", "is not one of WarmupLR|" },
    { "{\"scheduler\": {\"type\": \"WarmupLR\", \"params\": {\"cycle_min_lr\": 1}}}",
      "cycle_min_lr: WarmupLR has no such parameter" },
    { "{\"scheduler\": {\"type\": \"WarmupCosineLR\"}}",
      "WarmupCosineLR needs total_num_steps in its params" },
    { "{\"scheduler\": {\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 1}}}",
      "OneCycle needs cycle_max_lr" },
    { "{\"amp\": {\"enabled\": true}}", "amp: not supported: write \"fp16\": {\"enabled\": true}" },
    { "{\"sparse_attention\": {\"mode\": \"fixed\"}}", "sparse_attention: not supported" },
    { "{\"compression_training\": {\"weight_quantization\": {\"shared_parameters\":"
      " {\"enabled\": true}}}}", "compression_training: not supported: remove it" },
    { "{\"elasticity\": {\"enabled\": true}}", "max_train_batch_size is missing" },
    { "{\"elasticity\": {\"enabled\": true, \"max_train_batch_size\": 8}}",
      "micro_batch_sizes is missing" },
    { "{\"elasticity\": {\"micro_batch_sizes\": [2, -1]}}",
      "is not a list of integers of at least 1" },
    { "{\"train_batch_size\": 4, \"elasticity\": {\"enabled\": true,"
      " \"max_train_batch_size\": 8, \"micro_batch_sizes\": [2]}}",
      "train_batch_size: elasticity chooses it" },
};

static void test_refused(void **state)
{
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct ds_config *config = parse(refused[i][0], &err);

        if (config != NULL)
            fail_msg("%s: was taken", refused[i][0]);
        if (strstr(err.text, refused[i][1]) == NULL)
            fail_msg("%s: '%s' does not say '%s'", refused[i][0], err.text, refused[i][1]);
    }
}

static void test_batch(void **state)
{
    static const struct {
        const char *text;
        int64_t     world, batch, micro, steps; /* batch 0: refused */
    } cases[] = {
        { "\"train_batch_size\": 32, \"train_micro_batch_size_per_gpu\": 4,"
          " \"gradient_accumulation_steps\": 2", 4, 32, 4, 2 },
        { "\"train_batch_size\": 32, \"train_micro_batch_size_per_gpu\": 4,"
          " \"gradient_accumulation_steps\": 2", 2, 0, 0, 0 },
        { "\"train_batch_size\": 32, \"train_micro_batch_size_per_gpu\": 4", 2, 32, 4, 4 },
        { "\"train_batch_size\": 32, \"train_micro_batch_size_per_gpu\": 5", 2, 0, 0, 0 },
        { "\"train_batch_size\": 32, \"gradient_accumulation_steps\": 2", 4, 32, 4, 2 },
        { "\"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 3", 2, 24, 4,
          3 },
        { "\"train_batch_size\": 32", 8, 32, 4, 1 },
        { "\"train_batch_size\": 2", 4, 0, 0, 0 },
        { "\"train_micro_batch_size_per_gpu\": 4", 8, 32, 4, 1 },
        { "\"gradient_accumulation_steps\": 4", 1, 0, 0, 0 },
        { "\"train_micro_batch_size_per_gpu\": 4611686018427387904", 8, 0, 0, 0 },
        { "", 1, 0, 0, 0 },
    };
    char         text[256];
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ds_config *config;
        int               rc;

        snprintf(text, sizeof text, "{%s}", cases[i].text);
        config = parsed(text);
        rc = ds_config_resolve(config, cases[i].world, &err);
        assert_int_equal(rc, cases[i].batch == 0 ? -1 : 0);
        if (rc == 0) {
            assert_int_equal(config->train_batch_size, cases[i].batch);
            assert_int_equal(config->micro_batch_size, cases[i].micro);
            assert_int_equal(config->accumulation_steps, cases[i].steps);
        } else {
            assert_non_null(strstr(err.text, "ds.json"));
        }
        ds_config_free(config);
    }
}

/* The same file for another number of ranks: nothing is left of the first answer. */
static void test_batch_again(void **state)
{
    struct ds_config *config = parsed("{\"train_batch_size\": 24}");
    struct error      err;

    (void)state;
    assert_int_equal(ds_config_resolve(config, 4, &err), 0);
    assert_int_equal(config->micro_batch_size, 6);
    assert_int_equal(ds_config_resolve(config, 3, &err), 0);
    assert_int_equal(config->micro_batch_size, 8);
    assert_int_equal(ds_config_resolve(config, 5, &err), -1);
    assert_string_equal(err.text, "ds.json:1: train_batch_size: 24 is not micro batch 4 x "
                                  "accumulation steps 1 x ranks 5");
    ds_config_free(config);

    config = parsed("{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 3}");
    ds_config_set_steps(config, 6); /* by muster: two ranks are left of four */
    assert_int_equal(ds_config_resolve(config, 2, &err), 0);
    assert_int_equal(config->train_batch_size, 24);
    assert_int_equal(config->accumulation_steps, 6);
    ds_config_free(config);
}

static double lr_scale_of(const char *text, int64_t world, int64_t steps, struct error *err)
{
    struct ds_config *config = parsed(text);
    double            scale = -1;

    if (steps > 0)
        ds_config_set_steps(config, steps);
    assert_int_equal(ds_config_resolve(config, world, err), 0);
    if (ds_config_lr_scale(config, &scale, err) < 0)
        scale = -1;
    ds_config_free(config);
    return scale;
}

static void test_lr_scale(void **state)
{
    static const char micro[] = "{\"train_micro_batch_size_per_gpu\": 2}";
    static const char both[] = "{\"train_micro_batch_size_per_gpu\": 2, "
                               "\"gradient_accumulation_steps\": 3}";
    struct error      err;

    (void)state;
    assert_float_equal(lr_scale_of(micro, 1, 0, &err), 1, 0);
    assert_float_equal(lr_scale_of(micro, 6, 0, &err), 6, 0);
    assert_float_equal(lr_scale_of(both, 6, 0, &err), 6, 0);
    /* Of four ranks two are left, for which muster doubles the steps: the same batch and rate. */
    assert_float_equal(lr_scale_of(micro, 2, 2, &err), 4, 0);
    assert_float_equal(lr_scale_of(both, 2, 6, &err), 4, 0);

    assert_float_equal(lr_scale_of("{\"train_batch_size\": 24}", 4, 0, &err), -1, 0);
    assert_non_null(strstr(err.text, "ds.json:1: train_batch_size: with it the batch stays"));
    assert_float_equal(lr_scale_of("{\"elasticity\": {\"enabled\": true, "
                                   "\"max_train_batch_size\": 24, \"micro_batch_sizes\": [2], "
                                   "\"version\": 0.1}}", 4, 0, &err), -1, 0);
    assert_non_null(strstr(err.text, "elasticity: with it the batch stays"));
}

#define PRINTED_MAX 16384

static void print(const struct ds_config *config, char text[PRINTED_MAX])
{
    FILE *out = fmemopen(text, PRINTED_MAX, "w");

    ds_config_print(config, out);
    assert_true(ftell(out) < PRINTED_MAX - 1);
    fclose(out);
}

/* Line by line without the comments, which tell of another file. */
static void assert_same_values(const char *a, const char *b)
{
    a = strchr(a, '\n');
    b = strchr(b, '\n');
    while (a != NULL && b != NULL) {
        size_t n = strcspn(a + 1, "/\n"), m = strcspn(b + 1, "/\n");

        if (n != m || strncmp(a + 1, b + 1, n) != 0)
            fail_msg("%.*s is not %.*s", (int)n, a + 1, (int)m, b + 1);
        a = strchr(a + 1, '\n');
        b = strchr(b + 1, '\n');
    }
    assert_true(a == b);
}

static uint64_t hash_of(const char *text)
{
    struct ds_config *config = parsed(text);
    uint64_t          hash = ds_config_hash(config);

    ds_config_free(config);
    return hash;
}

/* All values count, and the layout does not. */
static void test_hash(void **state)
{
#define SWAP(path) "{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": " \
                   "{\"device\": \"nvme\", \"nvme_path\": \"" path "\"}}}"
    (void)state;
    assert_true(hash_of("{\"train_batch_size\": 8}") ==
                hash_of("{\n\n  \"train_batch_size\": 8 // eight\n}"));
    assert_true(hash_of("{\"train_batch_size\": 8}") != hash_of("{\"train_batch_size\": 16}"));
    assert_true(hash_of(SWAP("/local/a")) != hash_of(SWAP("/local/b")));
    assert_true(hash_of(SWAP("/local, // a")) != hash_of(SWAP("/local, // b")));
    assert_true(hash_of(SWAP("/local")) == hash_of(SWAP("/local")));
    /* The same in older words. */
    assert_true(hash_of("{\"zero_optimization\": {\"stage\": 1, \"cpu_offload\": true}}") ==
                hash_of("{\"zero_optimization\": {\"stage\": 1, \"offload_optimizer\":"
                        " {\"device\": \"cpu\"}}}"));
}

static void test_print(void **state)
{
    static const char *const texts[] = {
        "{\"train_batch_size\": 32}",
        "{\"train_batch_size\": 32, \"optimizer\": {\"type\": \"AdamW\", \"params\":"
        " {\"lr\": 0.1, \"betas\": [0.8, 0.99]}}, \"scheduler\": {\"type\": \"OneCycle\","
        " \"params\": {\"cycle_min_lr\": 1e-05, \"cycle_max_lr\": 0.30000000000000004}},"
        " \"bfloat16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3,"
        " \"offload_param\": {\"device\": \"nvme\", \"nvme_path\": \"/a\\\"b\"}}}",
        ("{\"elasticity\": {\"enabled\": true, \"max_train_batch_size\": 2000,"
         " \"micro_batch_sizes\": [2, 4, 6], \"version\": 0.1}}"),
    };
    struct ds_config *config, *again;
    struct error      err;
    char              text[PRINTED_MAX], second[PRINTED_MAX];
    size_t            i;

    (void)state;
    for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        config = parsed(texts[i]);
        assert_int_equal(ds_config_resolve(config, 4, &err), 0);
        print(config, text);
        again = parsed(text);
        assert_int_equal(ds_config_resolve(again, 4, &err), 0);
        print(again, second);
        assert_same_values(text, second);
        ds_config_free(config);
        ds_config_free(again);
    }
}

static void test_print_origins(void **state)
{
    struct ds_config *config = parsed("{\n\"train_batch_size\": 32}");
    struct error      err;
    char              text[PRINTED_MAX];

    (void)state;
    assert_int_equal(ds_config_resolve(config, 4, &err), 0);
    print(config, text);
    assert_non_null(strstr(text, "\"train_batch_size\": 32, // line 2\n"));
    assert_non_null(strstr(text, "\"train_micro_batch_size_per_gpu\": 8, // computed\n"));
    assert_non_null(strstr(text, "\"gradient_clipping\": 1, // default\n"));
    assert_non_null(strstr(text, "        \"reduce_bucket_size\": 500000000, // default\n"));
    assert_null(strstr(text, "cycle_min_lr"));
    ds_config_free(config);
}

static void test_elastic_config(void **state)
{
    struct ds_config *config =
        parsed("{\"train_batch_size\": 7, \"elasticity\": {\"enabled\": true, \"version\": 0.1,"
               " \"max_train_batch_size\": 10000, \"micro_batch_sizes\": [8, 12, 16, 17],"
               " \"min_gpus\": 32, \"max_gpus\": 1500,"
               " \"ignore_non_elastic_batch_info\": true}}");
    struct error err;

    (void)state;
    assert_int_equal(ds_config_resolve(config, 64, &err), 0);
    assert_int_equal(config->train_batch_size, 9792);
    assert_int_equal(config->micro_batch_size, 17);
    assert_int_equal(config->accumulation_steps, 9);
    assert_int_equal(ds_config_resolve(config, 128, &err), -1);
    assert_non_null(strstr(err.text, "128 ranks do not fit batch size 9792; these do: 32 34 36"));
    ds_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_scheduler_and_monitors),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_batch_again),
        cmocka_unit_test(test_lr_scale),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_print_origins),
        cmocka_unit_test(test_elastic_config),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
