/* test_adapter.c - adapters in PEFT's files
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
#include <unistd.h>

#include <cmocka.h>

#include "unit/trainer/model/model_fixture.h"
#include "weights/adapter.h"
#include "xalloc.h"

static char dir[] = "/tmp/test_adapter.XXXXXX";

#define LORA "\"peft_type\": \"LORA\""

/* ---- adapter_config.json ---- */

/* As PEFT 0.18 writes it. */
static const char peft[] =
    "{ \"alora_invocation_tokens\": null, \"alpha_pattern\": {}, \"arrow_config\": null,\n"
    "  \"auto_mapping\": null, \"base_model_name_or_path\": \"Qwen/Qwen2.5-0.5B\",\n"
    "  \"bias\": \"none\", \"corda_config\": null, \"ensure_weight_tying\": false,\n"
    "  \"eva_config\": null, \"exclude_modules\": null, \"fan_in_fan_out\": false,\n"
    "  \"inference_mode\": true, \"init_lora_weights\": true, \"layer_replication\": null,\n"
    "  \"layers_pattern\": null, \"layers_to_transform\": null, \"loftq_config\": {},\n"
    "  \"lora_alpha\": 32, \"lora_bias\": false, \"lora_dropout\": 0.05,\n"
    "  \"megatron_config\": null, \"megatron_core\": \"megatron.core\",\n"
    "  \"modules_to_save\": null, \"peft_type\": \"LORA\", \"peft_version\": \"0.18.0\",\n"
    "  \"qalora_group_size\": 16, \"r\": 16, \"rank_pattern\": {}, \"revision\": null,\n"
    "  \"target_modules\": [\"q_proj\", \"v_proj\"], \"target_parameters\": null,\n"
    "  \"task_type\": \"CAUSAL_LM\", \"trainable_token_indices\": null, \"use_dora\": false,\n"
    "  \"use_qalora\": false, \"use_rslora\": false }\n";

static const struct {
    const char *text, *lora;
} good[] = {
    { peft, "r=16,alpha=32,dropout=0.05,rslora=false,targets=q_proj,v_proj" },
    { "{ " LORA ", \"target_modules\": \"all-linear\", \"use_rslora\": true, \"lora_alpha\": 2.5 }",
      "r=8,alpha=2.5,dropout=0,rslora=true,targets=all-linear" },
    { "{ " LORA ", \"r\": 4, \"target_modules\": [\"mlp.c_fc\"], \"modules_to_save\": "
      "[\"lm_head\", \"wte\"], \"init_lora_weights\": \"gaussian\", \"new_key\": false }",
      "r=4,alpha=8,dropout=0,rslora=false,targets=mlp.c_fc,modules_to_save=lm_head,wte" },
};

#define KEYS LORA ", \"target_modules\": [\"q_proj\"], "
static const struct {
    const char *text, *why;
} bad[] = {
    { "", "f:1: '[' or '{' expected near end of file" },
    { "[]", "f: it is not a JSON object" },
    { "{ \"r\": 1, \"r\": 2 }", "f:1: duplicate object key near '\"r\"'" },
    { "{}", "f: peft_type '' is not LORA" },
    { "{ \"peft_type\": \"IA3\" }", "f: peft_type 'IA3' is not LORA" },
    { "{ " LORA " }", "f: targets: none" },
    { "{ " LORA ", \"target_modules\": [] }", "f: targets: none" },
    { "{ " LORA ", \"target_modules\": 7 }", "f: target_modules is not a list of names" },
    { "{ " LORA ", \"target_modules\": [7] }", "f: target_modules is not a list of names" },
    { "{ " LORA ", \"target_modules\": [\"a*\"] }",
      "f: targets: 'a*' cannot be the name of a module" },
    { "{ " LORA ", \"target_modules\": [\"rslora\"] }",
      "f: targets: 'rslora' cannot be the name of a module" },
    { "{ " LORA ", \"target_modules\": \".*q_proj\" }",
      "f: target_modules '.*q_proj': a regular expression is not supported; list the names" },
    { "{ " KEYS "\"modules_to_save\": \"lm_head\" }",
      "f: modules_to_save is not a list of names" },
    { "{ " KEYS "\"r\": 0 }", "f: r: 0 is not a whole number from 1 to 1024" },
    { "{ " KEYS "\"r\": 1.5 }", "f: r: 1.5 is not a whole number from 1 to 1024" },
    { "{ " KEYS "\"r\": 1e30 }", "f: r: 1e+30 is not a whole number from 1 to 1024" },
    { "{ " KEYS "\"r\": \"8\" }", "f: r is not a number" },
    { "{ " KEYS "\"lora_alpha\": null }", "f: lora_alpha is not a number" },
    { "{ " KEYS "\"lora_alpha\": 0 }", "f: alpha: 0 is not more than 0 and at most 1e+06" },
    { "{ " KEYS "\"lora_dropout\": 1 }", "f: dropout: 1 is not at least 0 and less than 1" },
    { "{ " KEYS "\"use_rslora\": 1 }", "f: use_rslora is neither true nor false" },
    { "{ " KEYS "\"bias\": \"all\" }",
      "f: bias 'all' is not supported: biases are frozen, as with 'none'" },
    { "{ " KEYS "\"init_lora_weights\": \"pissa\" }",
      "f: init_lora_weights 'pissa' is not supported: it changes the base's weights, or depends "
      "on data" },
    { "{ " KEYS "\"use_dora\": true }",
      "f: use_dora is not supported, and may change what is computed" },
    { "{ " KEYS "\"rank_pattern\": { \"q_proj\": 4 } }",
      "f: rank_pattern is not supported, and may change what is computed" },
    { "{ " KEYS "\"layers_to_transform\": [1] }",
      "f: layers_to_transform is not supported, and may change what is computed" },
    { "{ " KEYS "\"exclude_modules\": \"x\" }",
      "f: exclude_modules is not supported, and may change what is computed" },
};

static void test_config(void **state)
{
    struct lora  lora;
    struct error err;
    char        *text;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (adapter_config_parse(&lora, "f", good[i].text, strlen(good[i].text), &err) < 0)
            fail_msg("%s", err.text);
        text = lora_text(&lora);
        assert_string_equal(text, good[i].lora);
        free(text);
        lora_clear(&lora);
    }
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(adapter_config_parse(&lora, "f", bad[i].text, strlen(bad[i].text), &err),
                         -1);
        assert_string_equal(err.text, bad[i].why);
        assert_null(lora.target);
    }
}

/* What is written is read again, and names all targets. */
static void test_written(void **state)
{
    static const struct {
        int         model;
        const char *lora, *again;
    } cases[] = {
        { 0, "r=2,rslora,dropout=0.25",
          "r=2,alpha=4,dropout=0.25,rslora=true,targets=c_attn,c_proj,c_fc" },
        { 3, "r=2", "r=2,alpha=4,dropout=0,rslora=false,"
                    "targets=q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj" },
        { 5, "r=1,targets=q_proj,modules_to_save=embed_tokens",
          "r=1,alpha=2,dropout=0,rslora=false,targets=q_proj,modules_to_save=embed_tokens" },
    };
    struct model_tuning tuning = { .freeze = NULL };
    struct lora         lora, again;
    struct fixture      f;
    struct error        err;
    char               *text, *line;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(lora_parse(&lora, cases[i].lora, &err), 0);
        tuning.lora = &lora;
        fixture_make_tuned(&f, &tiny[cases[i].model], &tuning, DTYPE_FLOAT);
        text = adapter_config_text(&lora, f.model, "some/base");
        assert_non_null(strstr(text, "\"base_model_name_or_path\": \"some/base\""));
        assert_true((strstr(text, "\"fan_in_fan_out\": true") != NULL) == (i == 0));
        if (adapter_config_parse(&again, "f", text, strlen(text), &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(again.is_tied, i == 2);
        assert_int_equal(adapter_config_fits(&again, "f", &tiny[cases[i].model], &err), 0);
        line = lora_text(&again);
        assert_string_equal(line, cases[i].again);
        free(line);
        free(text);
        lora_clear(&lora);
        lora_clear(&again);
        fixture_drop(&f);
    }
}

/* Embeddings that are the head's, too, cannot be two. */
static void test_tied(void **state)
{
    struct lora  lora;
    struct error err;

    (void)state;
    assert_int_equal(lora_parse(&lora, "r=1,modules_to_save=embed_tokens", &err), 0);
    assert_int_equal(adapter_config_fits(&lora, "f", &tiny[3], &err), 0);
    lora.is_tied = true;
    assert_int_equal(adapter_config_fits(&lora, "f", &tiny[5], &err), 0);
    lora.is_tied = false;
    assert_int_equal(adapter_config_fits(&lora, "f", &tiny[5], &err), -1);
    assert_string_equal(err.text,
                        "f: modules_to_save has the embeddings or the head, which are one in this "
                        "model: that is supported only with \"ensure_weight_tying\": true");
    lora_clear(&lora);
    assert_int_equal(lora_parse(&lora, "r=1,modules_to_save=word_embeddings", &err), 0);
    assert_int_equal(adapter_config_fits(&lora, "f", &tiny[1], &err), -1);
    lora_clear(&lora);
}

/* ---- adapter_model.safetensors ---- */

#define ONE "base_model.model.model.layers.0.self_attn.q_proj.lora_"
#define TWO "base_model.model.model.layers.1.self_attn.q_proj.lora_"

static void write_tensors(const struct safetensors_shape *shapes, size_t count, const char *note)
{
    const struct safetensors_how how = { .stem = "adapter_model", .type = DTYPE_FLOAT,
                                         .file_max = UINT64_MAX, .note = note };
    struct error                 err = { "" };
    struct safetensors_out      *out = safetensors_create_as(dir, &how, shapes, count, &err);
    float                        values[64];
    size_t                       i, j;

    if (out == NULL)
        fail_msg("%s", err.text);
    for (i = 0; i < count; i++) {
        for (j = 0; j < shapes[i].shape[0] * shapes[i].shape[1]; j++)
            values[j] = (float)(100 * i + j);
        if (safetensors_store(out, i, 0, j, values, &err) < 0)
            fail_msg("%s", err.text);
    }
    if (safetensors_commit(out, &err) < 0)
        fail_msg("%s", err.text);
}

static const struct safetensors_shape all[] = {
    { ONE "A.weight", 2, { 2, 12 } }, { ONE "B.weight", 2, { 12, 2 } },
    { TWO "A.weight", 2, { 2, 12 } }, { TWO "B.weight", 2, { 12, 2 } },
    { "base_model.model.model.norm.weight", 2, { 2, 12 } },
};

/* The adapter there is refused, for this reason, and the file is named. */
static void refuse(const struct model *model, uint64_t base, const char *file, const char *why)
{
    struct error err = { "" };
    char         want[256];

    assert_null(adapter_open(dir, model, base, &err));
    snprintf(want, sizeof want, "%s/%s%s", dir, file, why);
    assert_string_equal(err.text, want);
}

static void test_files(void **state)
{
    static const char        file[] = "adapter_model.safetensors";
    struct safetensors_shape less[4];
    struct model_tuning      tuning = { .freeze = NULL };
    const struct model_param *param;
    struct safetensors      *adapter;
    struct fixture           f;
    struct lora              lora;
    struct error             err;
    float                    values[3];
    char                     path[64];

    (void)state;
    assert_int_equal(lora_parse(&lora, "r=2,targets=q_proj", &err), 0);
    tuning.lora = &lora;
    fixture_make_tuned(&f, &tiny[3], &tuning, DTYPE_FLOAT);
    write_tensors(all, 4, "00000000000000ff");
    adapter = adapter_open(dir, f.model, 255, &err);
    if (adapter == NULL)
        fail_msg("%s", err.text);
    param = model_param_named(f.model, strstr(TWO "A.weight", "model.layers"));
    assert_int_equal(adapter_read(adapter, param, 5, 3, values, &err), 0);
    assert_true(values[0] == 205 && values[2] == 207);
    safetensors_close(adapter);
    adapter = adapter_open(dir, f.model, 0, &err); /* a model without weights */
    assert_non_null(adapter);
    safetensors_close(adapter);

    refuse(f.model, 254, file,
           ": this adapter was trained with another base: --model has other weights");
    write_tensors(all, 3, NULL);
    refuse(f.model, 254, file, ": " TWO "B.weight is missing");
    write_tensors(all, 5, NULL);
    refuse(f.model, 254, file, ": base_model.model.model.norm.weight is of nothing that "
                               "adapter_config.json names in this model");
    memcpy(less, all, sizeof less);
    less[1].shape[0] = 10;
    write_tensors(less, 4, NULL);
    refuse(f.model, 254, file, ": " ONE "B.weight is not 12 x 2: is it of another model?");

    snprintf(path, sizeof path, "%s/%s", dir, file);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/adapter_model.bin", dir);
    fclose(fopen(path, "w"));
    refuse(f.model, 254, "adapter_model.bin", " is a Python pickle, which may run code: save the "
                                              "adapter again, as safetensors");
    assert_int_equal(unlink(path), 0);
    fixture_drop(&f);
    lora_clear(&lora);
}

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_tied),
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
