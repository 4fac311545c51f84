/* test_quantized.c - models whose frozen weights are blocks of codes: their passes, and how they
 * are filled
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/lora.h"
#include "model/model_fill.h"
#include "model/quant.h"
#include "unit/trainer/model/model_fixture.h"
#include "xalloc.h"

static const enum quant kinds[] = { QUANT_INT8, QUANT_NF4 };

/* What the frozen weights of a model come from. */
struct values {
    enum quant  rounded; /* as if they had been encoded and decoded; QUANT_NONE: as they are */
    const char *bad;     /* the parameter whose element 70 is not finite; NULL: none */
};

/* Biases and norms would hide mistakes while they are 0 and 1. */
static int read_values(void *arg, const struct model_param *param, size_t first, size_t count,
                       float *values, struct error *err)
{
    const struct values *from = arg;
    float               *all = xcalloc(param->count, sizeof *all);
    char                *packed = xmalloc(quant_bytes(QUANT_INT8, param->count));
    const bool           is_linear = param->dims == 2 && strstr(param->name, "embed") == NULL &&
                                     strstr(param->name, "head") == NULL &&
                                     strstr(param->name, "cls") == NULL &&
                                     strstr(param->name, "transformer.w") == NULL;
    size_t               i;

    (void)err;
    model_initial_param(param, 1, 0, param->count, all);
    for (i = 0; i < param->count; i++)
        all[i] += 0.01f * (float)(i % 7);
    if (from->bad != NULL && strcmp(param->name, from->bad) == 0)
        all[70] = -INFINITY;
    if (from->rounded != QUANT_NONE && param->is_frozen && is_linear) {
        quant_encode(from->rounded, all, param->count, packed);
        quant_decode(from->rounded, packed, param->count, all);
    }
    memcpy(values, all + first, count * sizeof *values);
    free(all);
    free(packed);
    return 0;
}

/* A model some of whose parameters are trained. */
struct tuned {
    struct ops   *ops;
    struct model *model;
    void         *params, *grads, *frozen;
    double        loss;
};

static struct ops *new_ops(enum dtype type)
{
    struct error err = { "" };
    struct ops  *ops = ops_cpu_new(type, &err);

    if (ops == NULL)
        fail_msg("%s", err.text);
    return ops;
}

static struct model *new_model(struct ops *ops, const struct model_config *config,
                               const struct model_tuning *tuning)
{
    struct error  err = { "" };
    struct model *model = model_new_tuned(config, tuning, ops, &err);

    if (model == NULL)
        fail_msg("%s", err.text);
    return model;
}

static void make(struct tuned *t, const struct model_config *config,
                 const struct model_tuning *tuning, enum dtype type, enum quant rounded)
{
    struct values       from = { .rounded = rounded };
    struct value_source source = { .arg = &from, .read = read_values };
    struct error        err = { "" };
    float              *values;
    size_t              i;

    t->ops = new_ops(type);
    t->model = new_model(t->ops, config, tuning);
    t->params = xcalloc(t->model->count, sizeof(float));
    t->grads = xcalloc(t->model->count, sizeof(float));
    t->frozen = t->ops->alloc(t->ops, t->model->frozen_bytes);
    values = xcalloc(t->model->count, sizeof *values);
    if (model_fill(t->model, &source, 0, t->model->count, values, &err) < 0 ||
        model_fill_frozen(t->model, &source, 0, t->model->frozen_bytes, t->frozen, &err) < 0)
        fail_msg("%s", err.text);
    for (i = 0; i < t->model->count; i++)
        if (type == DTYPE_FLOAT)
            ((float *)t->params)[i] = values[i];
        else
            ((uint16_t *)t->params)[i] = float_to_bfloat16(values[i]);
    free(values);
    model_use_arrays(t->model, t->params, t->grads);
    model_use_frozen(t->model, t->frozen);
}

static void drop(struct tuned *t)
{
    model_free(t->model);
    t->ops->release(t->ops, t->frozen);
    t->ops->free(t->ops);
    free(t->params);
    free(t->grads);
}

static void pass(struct tuned *t, bool recomputes)
{
    struct error err = { "" };
    double       again = 0;
    int          count = 0;

    t->model->drops = true;
    t->model->recomputes = recomputes;
    if (model_forward(t->model, &tiny_batch, &err) < 0 ||
        model_loss(t->model, &t->loss, &count, &err) < 0 ||
        model_backward(t->model, 0.5, &again, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(t->loss == again);
}

/* Adapters everywhere; adapters at some places, and a part in the middle of a layer that is
 * trained as a whole; one of two parts is frozen, and no adapters. */
#define TUNINGS 3

static const char *const adapters[TINY][2] = {
    { "r=2,dropout=0.2", "r=3,targets=c_attn,modules_to_save=mlp.c_proj" },
    { "r=2,dropout=0.2", "r=3,targets=query,value,modules_to_save=key" },
    { "r=2,dropout=0.2", "r=3,targets=value,modules_to_save=key" },
    { "r=2,dropout=0.2", "r=3,targets=q_proj,up_proj,modules_to_save=k_proj,lm_head" },
    { "r=2,dropout=0.2", "r=3,targets=down_proj,modules_to_save=gate_proj,k_proj" },
    { "r=2,dropout=0.2", "r=3,targets=o_proj,modules_to_save=v_proj" },
    { "r=2,dropout=0.2", "r=3,targets=gate_proj,modules_to_save=q_proj" },
};

struct tuning {
    struct model_tuning tuning;
    struct lora         lora;
    regex_t             freeze;
};

static void tuning_make(struct tuning *t, size_t family, size_t number)
{
    struct error err = { "" };

    *t = (struct tuning){ .lora.rank = 0 };
    if (number < 2 && lora_parse(&t->lora, adapters[family][number], &err) < 0)
        fail_msg("%s", err.text);
    if (number == 2)
        assert_int_equal(regcomp(&t->freeze, "q_proj|v_proj|gate|down|query|key|c_attn|dense",
                                 REG_EXTENDED | REG_NOSUB), 0);
    t->tuning.lora = number < 2 ? &t->lora : NULL;
    t->tuning.freeze = number == 2 ? &t->freeze : NULL;
}

static void tuning_clear(struct tuning *t)
{
    lora_clear(&t->lora);
    if (t->tuning.freeze != NULL)
        regfree(&t->freeze);
}

/* A model that decodes its weights and one that has the decoded values: the same bits. */
static void compare_passes(const struct model_config *config, struct model_tuning tuning,
                           enum quant kind, enum dtype type)
{
    struct tuned quantized, rounded, plain;
    int          recomputes;

    make(&rounded, config, &tuning, type, kind);
    make(&plain, config, &tuning, type, QUANT_NONE);
    tuning.quantize = kind;
    make(&quantized, config, &tuning, type, QUANT_NONE);
    assert_int_equal(quantized.model->count, rounded.model->count);
    assert_true(quantized.model->frozen_bytes < rounded.model->frozen_bytes);
    assert_true(model_wide_bytes(quantized.model) > 0 && model_wide_bytes(rounded.model) == 0);
    for (recomputes = 0; recomputes < 2; recomputes++) { /* the second adds its gradients */
        pass(&quantized, recomputes);
        pass(&rounded, recomputes);
        pass(&plain, recomputes);
        if (quantized.loss != rounded.loss)
            fail_msg("family %d, %s, %s: loss %.9g is not %.9g", (int)config->kind,
                     quant_name(kind), dtype_name(type), quantized.loss, rounded.loss);
        assert_memory_equal(quantized.grads, rounded.grads,
                            quantized.model->count * dtype_size(type));
    }
    if (quantized.loss == plain.loss || fabs(quantized.loss - plain.loss) > plain.loss / 4)
        fail_msg("loss %.9g beside %.9g without codes", quantized.loss, plain.loss);
    drop(&quantized);
    drop(&rounded);
    drop(&plain);
}

static void test_passes(void **state)
{
    struct model_config config;
    struct tuning       t;
    size_t              m, i;

    (void)state;
    for (m = 0; m < TINY; m++) {
        config = tiny[m];
        config.attention_dropout = config.hidden_dropout = 0.1;
        if (config.kind == MODEL_MISTRAL) { /* in the room, values begin where keys would end */
            config.width = 24;
            config.kv_heads = config.heads;
        }
        for (i = 0; i < TUNINGS; i++) {
            tuning_make(&t, m, i);
            compare_passes(&config, t.tuning, QUANT_INT8, DTYPE_FLOAT);
            compare_passes(&config, t.tuning, QUANT_NF4, DTYPE_FLOAT);
            compare_passes(&config, t.tuning, QUANT_INT8, DTYPE_BFLOAT16);
            compare_passes(&config, t.tuning, QUANT_NF4, DTYPE_BFLOAT16);
            tuning_clear(&t);
        }
    }
}

/* The weights of blocks' linear layers, and nothing else. */
static void test_which(void **state)
{
    static const char *const linear[] = {
        ".attn.c_attn.weight", ".attn.c_proj.weight", ".mlp.c_fc.weight", ".mlp.c_proj.weight",
        ".query.weight", ".key.weight", ".value.weight", ".attention.output.dense.weight",
        ".intermediate.dense.weight", ".output.dense.weight",
        ".q_proj.weight", ".k_proj.weight", ".v_proj.weight", ".o_proj.weight",
        ".gate_proj.weight", ".up_proj.weight", ".down_proj.weight",
    };
    static const int each[TINY] = { 4, 6, 6, 7, 7, 7, 7 };
    struct ops      *ops = new_ops(DTYPE_BFLOAT16);
    struct tuning    t;
    struct model    *model;
    size_t           m, j;
    int              i, count;

    (void)state;
    for (m = 0; m < TINY; m++) {
        tuning_make(&t, m, 0);
        t.tuning.quantize = QUANT_NF4;
        model = new_model(ops, &tiny[m], &t.tuning);
        for (i = count = 0; i < model->param_count; i++) {
            const struct model_param *p = &model->param[i];
            const size_t              length = strlen(p->name);
            bool                      want = false;

            for (j = 0; j < sizeof linear / sizeof linear[0]; j++)
                if (length > strlen(linear[j]) &&
                    strcmp(p->name + length - strlen(linear[j]), linear[j]) == 0)
                    want = true;
            assert_int_equal(p->is_quantized, want);
            assert_true(!p->is_quantized || p->is_frozen);
            assert_int_equal(p->is_frozen ? model_frozen_bytes(model, p) : 0,
                             want          ? (p->count + 63) / 64 * 36
                             : p->is_frozen ? p->count * 2
                                            : 0);
            count += want;
        }
        assert_int_equal(count, each[m] * model->config.blocks);
        model_free(model);
        tuning_clear(&t);
    }
    ops->free(ops);
}

/* ---- filling ---- */

static void check_range(const struct tuned *t, size_t first, size_t count)
{
    struct values       from = { .rounded = QUANT_NONE };
    struct value_source source = { .arg = &from, .read = read_values };
    struct error        err = { "" };
    char               *bytes = xmalloc(count);

    memset(bytes, 0x5a, count);
    if (model_fill_frozen(t->model, &source, first, count, bytes, &err) < 0)
        fail_msg("%s", err.text);
    if (memcmp(bytes, (char *)t->frozen + first, count) != 0)
        fail_msg("%zu bytes from %zu on are others", count, first);
    free(bytes);
}

/* Whatever a rank's share is, it gets what is there of the whole: in two parts that meet anywhere,
 * and in small ones, inside of a block, or of two. */
static void test_ranges(void **state)
{
    struct tuning t;
    struct tuned  whole;
    size_t        m, k, first, count, end;

    (void)state;
    for (m = 0; m < 4; m += 3) {
        for (k = 0; k < 2; k++) {
            tuning_make(&t, m, 1);
            t.tuning.quantize = kinds[k];
            make(&whole, &tiny[m], &t.tuning, DTYPE_BFLOAT16, QUANT_NONE);
            end = whole.model->frozen_bytes;
            for (first = 8; first < end; first += 8) {
                check_range(&whole, 0, first);
                check_range(&whole, first, end - first);
                for (count = 8; count <= 80 && count <= end - first; count += 24)
                    check_range(&whole, first, count);
            }
            drop(&whole);
            tuning_clear(&t);
        }
    }
}

/* A weight that is read in several parts. */
static void test_large(void **state)
{
    static const size_t steps[] = { 1000 * 8, 139271 * 8, 300003 * 8 };
    struct model_config config = tiny[0];
    struct tuning       t;
    struct tuned        whole;
    size_t              i, first, end;

    (void)state;
    config.width = 384;
    config.inner = 1000;
    config.blocks = 1;
    tuning_make(&t, 0, 0);
    for (i = 0; i < 6; i++) {
        t.tuning.quantize = kinds[i % 2];
        make(&whole, &config, &t.tuning, DTYPE_BFLOAT16, QUANT_NONE);
        end = whole.model->frozen_bytes;
        for (first = steps[i / 2] * 3 % end / 8 * 8; first < end; first += steps[i / 2] * 7)
            check_range(&whole, first,
                        end - first < steps[i / 2] ? end - first : steps[i / 2]);
        drop(&whole);
    }
    tuning_clear(&t);
}

/* What an export reads: the values that the model computes with, in parts of whole blocks. */
static void test_values(void **state)
{
    struct values from = { .rounded = QUANT_NONE };
    struct tuning t;
    struct tuned  f;
    float        *want, *got;
    size_t        m, k, at, n;
    int           i;

    (void)state;
    for (m = 0; m < 2 * TINY; m++) {
        tuning_make(&t, m % TINY, 0);
        t.tuning.quantize = from.rounded = kinds[m / TINY];
        make(&f, &tiny[m % TINY], &t.tuning, DTYPE_FLOAT, QUANT_NONE);
        for (i = 0; i < f.model->param_count; i++) {
            const struct model_param *p = &f.model->param[i];

            if (!p->is_frozen)
                continue;
            want = xcalloc(p->count, sizeof *want);
            got = xcalloc(p->count, sizeof *got);
            read_values(&from, p, 0, p->count, want, NULL);
            for (k = 1; k < 4; k++) {
                for (at = 0; at < p->count; at += n) {
                    n = p->count - at < k * QUANT_BLOCK ? p->count - at : k * QUANT_BLOCK;
                    model_frozen_values(f.model, p,
                                        (char *)f.frozen + p->offset +
                                            model_frozen_part(f.model, p, at),
                                        n, got + at);
                }
                assert_memory_equal(got, want, p->count * sizeof *want);
            }
            free(want);
            free(got);
        }
        drop(&f);
        tuning_clear(&t);
    }
}

/* ---- mistakes ---- */

/* A weight that is not finite is named; a bias may be as it was. */
static void test_bad_weight(void **state)
{
    struct values       from = { .bad = "model.layers.1.mlp.up_proj.weight" };
    struct value_source source = { .arg = &from, .read = read_values };
    struct error        err = { "" };
    struct tuning       t;
    struct tuned        f;

    (void)state;
    tuning_make(&t, 3, 0);
    t.tuning.quantize = QUANT_NF4;
    make(&f, &tiny[3], &t.tuning, DTYPE_FLOAT, QUANT_NONE);
    assert_int_equal(model_fill_frozen(f.model, &source, 0, f.model->frozen_bytes, f.frozen, &err),
                     -1);
    assert_string_equal(err.text, "model.layers.1.mlp.up_proj.weight: element 70 is -inf, which "
                                  "cannot become nf4");
    from.bad = "model.embed_tokens.weight";
    assert_int_equal(model_fill_frozen(f.model, &source, 0, f.model->frozen_bytes, f.frozen, &err),
                     0);
    drop(&f);
    tuning_clear(&t);
}

static void test_refused(void **state)
{
    struct ops         *ops = new_ops(DTYPE_FLOAT);
    struct model_tuning tuning = { .quantize = QUANT_INT8 };
    struct error        err = { "" };
    struct model       *model;
    regex_t             freeze;

    (void)state;
    assert_null(model_new_tuned(&tiny[3], &tuning, ops, &err));
    assert_string_equal(err.text,
                        "no parameter is frozen: int8 is for those that are not trained");
    assert_int_equal(regcomp(&freeze, "embed_tokens|lm_head|bias|norm", REG_EXTENDED | REG_NOSUB),
                     0);
    tuning.freeze = &freeze;
    assert_null(model_new_tuned(&tiny[3], &tuning, ops, &err));
    assert_string_equal(err.text,
                        "no weight of a block's linear layer is frozen, which could be int8");
    tuning.quantize = QUANT_NONE;
    model = model_new_tuned(&tiny[3], &tuning, ops, &err);
    assert_non_null(model);
    model_free(model);
    regfree(&freeze);
    ops->free(ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_which),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_bad_weight),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
