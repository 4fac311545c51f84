/* test_tuning.c - models of which a training changes some parameters, and adapters
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
#include "unit/trainer/model/model_fixture.h"
#include "xalloc.h"

static struct lora lora_of(const char *text)
{
    struct lora  lora;
    struct error err = { "" };

    if (lora_parse(&lora, text, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return lora;
}

/* ---- texts ---- */

static const struct {
    const char *text, *again;
} good_texts[] = {
    { "r=8", "r=8,alpha=16,dropout=0,rslora=false,targets=all-linear" },
    { "rank=8,alpha=1e-3,rslora", "r=8,alpha=0.001,dropout=0,rslora=true,targets=all-linear" },
    { "targets=q_proj,mlp.up_proj,r=1,lora_dropout=0.5,use_rslora=false,lora_alpha=2",
      "r=1,alpha=2,dropout=0.5,rslora=false,targets=q_proj,mlp.up_proj" },
    { "r=4,target_modules=all-linear,modules_to_save=embed_tokens,lm_head,rslora",
      "r=4,alpha=8,dropout=0,rslora=true,targets=all-linear,"
      "modules_to_save=embed_tokens,lm_head" },
};
static const struct {
    const char *text, *why;
} bad_texts[] = {
    { "", "unknown key '': it takes r, alpha, dropout, targets, rslora and "
          "modules_to_save" },
    { "q_proj", "unknown key 'q_proj': it takes r, alpha, dropout, targets, rslora and "
                "modules_to_save" },
    { "r=8,beta=2", "unknown key 'beta': it takes r, alpha, dropout, targets, rslora and "
                    "modules_to_save" },
    { "r", "r needs a value: r=..." },
    { "r=8,alpha", "alpha needs a value: alpha=..." },
    { "alpha=8", "r, the rank, is missing: for example r=16" },
    { "r=0", "r: '0' is not a number from 1 to 1024" },
    { "r=1025", "r: '1025' is not a number from 1 to 1024" },
    { "r=8x", "r: '8x' is not a number from 1 to 1024" },
    { "r=8,alpha=0", "alpha: 0 is not more than 0 and at most 1e+06" },
    { "r=8,alpha=1e7", "alpha: 1e+07 is not more than 0 and at most 1e+06" },
    { "r=8,alpha=nan", "alpha: 'nan' is not a number of at least 0" },
    { "r=8,alpha=", "alpha: '' is not a number of at least 0" },
    { "r=8,dropout=1", "dropout: 1 is not at least 0 and less than 1" },
    { "r=8,dropout=-1", "dropout: '-1' is not a number of at least 0" },
    { "r=8,rslora=yes", "rslora: 'yes' is neither true nor false" },
    { "r=8,targets=", "targets: '' cannot be the name of a module" },
    { "r=8,targets=q_proj,", "targets: '' cannot be the name of a module" },
    { "r=8,targets=.*attn", "targets: '.*attn' cannot be the name of a module" },
    { "r=8,targets=all-linear,q_proj", "targets: all-linear and q_proj together" },
    { "r=8,modules_to_save=a b", "modules_to_save: 'a b' cannot be the name of a module" },
};

static void test_text(void **state)
{
    struct lora  lora;
    struct error err;
    char        *text;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof good_texts / sizeof good_texts[0]; i++) {
        lora = lora_of(good_texts[i].text);
        text = lora_text(&lora);
        assert_string_equal(text, good_texts[i].again);
        lora_clear(&lora);
        lora = lora_of(text);
        free(text);
        text = lora_text(&lora);
        assert_string_equal(text, good_texts[i].again);
        free(text);
        lora_clear(&lora);
    }
    for (i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
        assert_int_equal(lora_parse(&lora, bad_texts[i].text, &err), -1);
        assert_string_equal(err.text, bad_texts[i].why);
    }
}

/* As many names as fit, and one more. */
static void test_many(void **state)
{
    struct lora  lora;
    struct error err;
    char         text[LORA_TEXT_MAX + 2] = "r=1,targets=a";
    int          i;

    (void)state;
    for (i = 1; i < LORA_NAMES_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",a%d", i);
    lora = lora_of(text);
    assert_int_equal(lora.targets, LORA_NAMES_MAX);
    lora_clear(&lora);
    strcat(text, ",b");
    assert_int_equal(lora_parse(&lora, text, &err), -1);
    assert_string_equal(err.text, "targets: more than 64 names");
    memset(text, 'r', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(lora_parse(&lora, text, &err), -1);
    assert_string_equal(err.text, "longer than 8192 bytes");
}

static void test_names(void **state)
{
    struct lora lora = lora_of("r=1,targets=up_proj,attn.c_proj,modules_to_save=lm_head");

    (void)state;
    assert_true(lora_has_target(&lora, "model.layers.3.mlp.up_proj.weight"));
    assert_true(lora_has_target(&lora, "transformer.h.0.attn.c_proj.weight"));
    assert_true(lora_has_target(&lora, "up_proj.weight"));
    assert_false(lora_has_target(&lora, "transformer.h.0.mlp.c_proj.weight"));
    assert_false(lora_has_target(&lora, "model.layers.3.mlp.gate_up_proj.weight"));
    assert_false(lora_has_target(&lora, "model.layers.3.mlp.up_proj.inner.weight"));
    assert_true(lora_saves(&lora, "lm_head.weight"));
    assert_false(lora_saves(&lora, "up_proj.weight"));
    assert_true(lora_scale(&lora) == 2);
    lora.is_rs = true;
    lora.rank = 16;
    lora.alpha = 2;
    assert_true(lora_scale(&lora) == 0.5);
    lora_clear(&lora);
}

/* What no model accepts, and why. */
static void test_refused(void **state)
{
    static const struct {
        int         model; /* of tiny */
        const char *lora, *freeze, *why;
    } bad[] = {
        { 3, "r=2,targets=q_proj,c_attn", NULL,
          "targets: no linear layer of a block of this model is named c_attn" },
        { 3, "r=2,targets=embed_tokens", NULL,
          "targets: embed_tokens is model.embed_tokens.weight, which is no linear layer of a "
          "block" },
        { 1, "r=2,targets=dense", NULL,
          "targets: dense is cls.predictions.transform.dense.weight, which is no linear layer of "
          "a block" },
        { 0, "r=2,targets=ln_1", NULL,
          "targets: no linear layer of a block of this model is named ln_1" },
        { 3, "r=2,modules_to_save=head", NULL,
          "modules_to_save: no module of this model is named head" },
        { 3, NULL, ".", "every parameter is frozen: there is nothing to train" },
        { 3, NULL, "wte", "no parameter is frozen: no name has a match" },
    };
    struct ops         *ops;
    struct lora         lora;
    struct error        err;
    struct model_tuning tuning;
    regex_t             freeze;
    size_t              i;

    (void)state;
    ops = ops_cpu_new(DTYPE_FLOAT, &err);
    assert_non_null(ops);
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tuning = (struct model_tuning){ .lora = NULL };
        if (bad[i].lora != NULL) {
            lora = lora_of(bad[i].lora);
            tuning.lora = &lora;
        } else {
            assert_int_equal(regcomp(&freeze, bad[i].freeze, REG_EXTENDED | REG_NOSUB), 0);
            tuning.freeze = &freeze;
        }
        assert_null(model_new_tuned(&tiny[bad[i].model], &tuning, ops, &err));
        assert_string_equal(err.text, bad[i].why);
        if (bad[i].lora != NULL)
            lora_clear(&lora);
        else
            regfree(&freeze);
    }
    ops->free(ops);
}

/* ---- adapters ---- */

/* For each family, a number of tiny models: targets, and what is saved. */
static const struct {
    int         model;
    const char *lora;
} tuned[] = {
    { 0, "r=2,alpha=3" },
    { 0, "r=3,targets=attn.c_proj,c_fc,modules_to_save=wpe,ln_f" },
    { 1, "r=2,targets=query,value,output.dense" },
    { 2, "r=2" },
    { 3, "r=2,rslora" },
    { 3, "r=3,targets=q_proj,v_proj,up_proj,modules_to_save=embed_tokens,lm_head" },
    { 4, "r=2,targets=k_proj,down_proj" },
    { 5, "r=1,targets=gate_proj,o_proj,modules_to_save=embed_tokens" },
    { 6, "r=2,modules_to_save=norm,q_norm" },
};
#define TUNED (sizeof tuned / sizeof tuned[0])

static double *grad_of(const struct fixture *f, size_t i)
{
    return &((double *)f->grads)[i];
}

/* Of every parameter that is trained, every element; without dropout, and with. */
static void test_gradients(void **state)
{
    const double        step = 3e-6;
    struct model_tuning tuning = { .freeze = NULL };
    struct fixture      f;
    struct lora         lora;
    size_t              m, i;

    (void)state;
    for (m = 0; m < 2 * TUNED; m++) {
        lora = lora_of(tuned[m % TUNED].lora);
        lora.dropout = m >= TUNED ? 0.3 : 0;
        tuning.lora = &lora;
        fixture_make_tuned(&f, &tiny[tuned[m % TUNED].model], &tuning, DTYPE_DOUBLE);
        f.model->drops = m >= TUNED;
        fixture_loss(&f);
        fixture_back(&f, 0.5);
        for (i = 0; i < f.model->count; i++) {
            const struct model_param *param = model_param_at(f.model, i);
            double                   *p = &((double *)f.params)[i], old = *p, high, low, want;

            if (param == NULL) {
                assert_true(*grad_of(&f, i) == 0); /* padding */
                continue;
            }
            *p = old + step;
            high = fixture_loss(&f);
            *p = old - step;
            low = fixture_loss(&f);
            *p = old;
            want = 0.5 * (high - low) / (2 * step);
            if (fabs(*grad_of(&f, i) - want) > 1e-7 * fmax(1, fabs(want)))
                fail_msg("%s, %s: gradient %.10g, difference %.10g", tuned[m % TUNED].lora,
                         param->name, *grad_of(&f, i), want);
        }
        fixture_drop(&f);
        lora_clear(&lora);
    }
}

/* Returns where a parameter's values are. */
static double *values_of(const struct fixture *f, const struct model_param *param)
{
    return param->is_frozen ? (double *)((char *)f->frozen + param->offset)
                            : (double *)f->params + param->offset;
}

/* Adds to a weight of plain what the adapter of f makes of it. */
static void merge(const struct fixture *plain, const struct fixture *f,
                  const struct model_param *weight)
{
    const struct model_param *a, *b;
    const bool                turned = tiny[0].kind != f->model->config.kind;
    char                      name[MODEL_NAME_MAX];
    const int                 stem = (int)(strrchr(weight->name, '.') - weight->name);
    size_t                    i, j, k;
    double                   *w = values_of(plain, weight), sum;

    snprintf(name, sizeof name, "%.*s" LORA_A, stem, weight->name);
    a = model_param_named(f->model, name);
    snprintf(name, sizeof name, "%.*s" LORA_B, stem, weight->name);
    b = model_param_named(f->model, name);
    if (weight->dims != 2 || a == NULL)
        return;
    for (i = 0; i < b->shape[0]; i++)
        for (j = 0; j < a->shape[1]; j++) {
            for (sum = 0, k = 0; k < a->shape[0]; k++)
                sum += values_of(f, b)[i * b->shape[1] + k] * values_of(f, a)[k * a->shape[1] + j];
            w[turned ? i * a->shape[1] + j : j * b->shape[0] + i] += f->model->lora_scale * sum;
        }
}

/* A model with adapters is one whose weights have what they make of them, and without one whose
 * adapters begin as they do. */
static void test_merged(void **state)
{
    struct model_tuning tuning = { .freeze = NULL };
    struct fixture      plain, f;
    struct lora         lora;
    double              untuned, adapted;
    size_t              m;
    int                 i, j;

    (void)state;
    for (m = 0; m < TUNED; m++) {
        lora = lora_of(tuned[m].lora);
        tuning.lora = &lora;
        fixture_make(&plain, &tiny[tuned[m].model], DTYPE_DOUBLE);
        fixture_make_tuned(&f, &tiny[tuned[m].model], &tuning, DTYPE_DOUBLE);
        assert_true(f.model->lora_scale == lora_scale(&lora));
        untuned = fixture_loss(&plain);
        adapted = fixture_loss(&f);
        assert_true(fabs(adapted - untuned) > 1e-6);
        for (i = 0; i < plain.model->param_count; i++)
            merge(&plain, &f, &plain.model->param[i]);
        if (fabs(fixture_loss(&plain) - adapted) > 1e-11)
            fail_msg("%s: %.15g instead of %.15g", tuned[m].lora, fixture_loss(&plain), adapted);
        for (i = 0; i < f.model->param_count; i++) {
            const struct model_param *p = &f.model->param[i];

            assert_true(p->is_adapter == (strstr(p->name, ".lora_") != NULL));
            if (strstr(p->name, LORA_B) == NULL)
                continue;
            assert_int_equal(p->init, MODEL_INIT_ZERO);
            for (j = 0; j < (int)p->count; j++)
                values_of(&f, p)[j] = 0;
        }
        assert_true(fabs(fixture_loss(&f) - untuned) < 1e-12);
        fixture_drop(&plain);
        fixture_drop(&f);
        lora_clear(&lora);
    }
}

/* Blocks that compute twice give the same bits, in 16 bits, too. */
static void test_recompute(void **state)
{
    static const enum dtype types[] = { DTYPE_DOUBLE, DTYPE_FLOAT, DTYPE_BFLOAT16 };
    struct model_tuning     tuning = { .freeze = NULL };
    struct fixture          kept, again;
    struct lora             lora = lora_of("r=2,dropout=0.2");
    int                     m, i;

    (void)state;
    tuning.lora = &lora;
    for (m = 0; m < TINY; m++) {
        for (i = 0; i < 3; i++) {
            fixture_make_tuned(&kept, &tiny[m], &tuning, types[i]);
            fixture_make_tuned(&again, &tiny[m], &tuning, types[i]);
            kept.model->drops = again.model->drops = true;
            again.model->recomputes = true;
            assert_true(fixture_loss(&kept) == fixture_loss(&again));
            fixture_back(&kept, 0.5);
            fixture_back(&again, 0.5);
            assert_memory_equal(kept.grads, again.grads,
                                kept.model->count * dtype_size(types[i]));
            fixture_drop(&kept);
            fixture_drop(&again);
        }
    }
    lora_clear(&lora);
}

/* ---- weight decay ---- */

/* Of models with one block, all that it spares; of this family. */
static const struct {
    int         model;
    const char *names;
} spared[] = {
    { 0,
      "transformer.h.0.ln_1.weight transformer.h.0.ln_1.bias transformer.h.0.attn.c_attn.bias "
      "transformer.h.0.attn.c_proj.bias transformer.h.0.ln_2.weight transformer.h.0.ln_2.bias "
      "transformer.h.0.mlp.c_fc.bias transformer.h.0.mlp.c_proj.bias transformer.ln_f.weight "
      "transformer.ln_f.bias " },
    { 1,
      "bert.embeddings.LayerNorm.weight bert.embeddings.LayerNorm.bias "
      "bert.encoder.layer.0.attention.self.query.bias "
      "bert.encoder.layer.0.attention.self.key.bias "
      "bert.encoder.layer.0.attention.self.value.bias "
      "bert.encoder.layer.0.attention.output.dense.bias "
      "bert.encoder.layer.0.attention.output.LayerNorm.weight "
      "bert.encoder.layer.0.attention.output.LayerNorm.bias "
      "bert.encoder.layer.0.intermediate.dense.bias bert.encoder.layer.0.output.dense.bias "
      "bert.encoder.layer.0.output.LayerNorm.weight bert.encoder.layer.0.output.LayerNorm.bias "
      "cls.predictions.transform.dense.bias cls.predictions.transform.LayerNorm.weight "
      "cls.predictions.transform.LayerNorm.bias cls.predictions.bias " },
    { 3,
      "model.layers.0.input_layernorm.weight model.layers.0.self_attn.q_proj.bias "
      "model.layers.0.self_attn.k_proj.bias model.layers.0.self_attn.v_proj.bias "
      "model.layers.0.self_attn.o_proj.bias model.layers.0.post_attention_layernorm.weight "
      "model.layers.0.mlp.gate_proj.bias model.layers.0.mlp.up_proj.bias "
      "model.layers.0.mlp.down_proj.bias model.norm.weight " },
    { 6,
      "model.layers.0.input_layernorm.weight model.layers.0.self_attn.q_norm.weight "
      "model.layers.0.self_attn.k_norm.weight model.layers.0.post_attention_layernorm.weight "
      "model.norm.weight " },
};

static void list_spared(const struct model *model, char *text, size_t size)
{
    size_t at = 0;
    int    i;

    text[0] = '\0';
    for (i = 0; i < model->param_count; i++)
        if (model->param[i].is_spared)
            at += (size_t)snprintf(text + at, size - at, "%s ", model->param[i].name);
}

static void test_spared_by_default(void **state)
{
    struct model_config config;
    struct fixture      f;
    regex_t             regex;
    char                text[4096];
    size_t              i;
    int                 m, j;

    (void)state;
    for (i = 0; i < sizeof spared / sizeof spared[0]; i++) {
        config = tiny[spared[i].model];
        config.blocks = 1;
        fixture_make(&f, &config, DTYPE_FLOAT);
        list_spared(f.model, text, sizeof text);
        assert_string_equal(text, spared[i].names);
        fixture_drop(&f);
    }
    assert_int_equal(regcomp(&regex, "bias$|(ln_[12f]|[Nn]orm)\\.weight$",
                             REG_EXTENDED | REG_NOSUB), 0);
    for (m = 0; m < TINY; m++) {
        fixture_make(&f, &tiny[m], DTYPE_FLOAT);
        for (j = 0; j < f.model->param_count; j++)
            assert_int_equal(f.model->param[j].is_spared,
                             regexec(&regex, f.model->param[j].name, 0, NULL, 0) == 0);
        fixture_drop(&f);
    }
    regfree(&regex);
}

/* Adapters are decayed; a name is looked for among what is trained. */
static void test_spared_names(void **state)
{
    struct lora         lora = lora_of("r=2,targets=q_proj,modules_to_save=norm");
    struct model_tuning tuning = { .lora = &lora };
    struct error        err = { "" };
    struct fixture      f;
    regex_t             regex;
    char                text[4096];
    int                 i;

    (void)state;
    fixture_make_tuned(&f, &tiny[3], &tuning, DTYPE_FLOAT);
    for (i = 0; i < f.model->param_count; i++)
        assert_false(f.model->param[i].is_spared && f.model->param[i].is_adapter);
    assert_int_equal(regcomp(&regex, "0\\..*lora_B", REG_EXTENDED | REG_NOSUB), 0);
    assert_int_equal(model_spare(f.model, &regex, &err), 0);
    regfree(&regex);
    list_spared(f.model, text, sizeof text);
    assert_string_equal(text, "model.layers.0.self_attn.q_proj.lora_B.weight ");
    assert_int_equal(model_spare(f.model, NULL, &err), 0);
    list_spared(f.model, text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(regcomp(&regex, "embed_tokens", REG_EXTENDED | REG_NOSUB), 0);
    assert_int_equal(model_spare(f.model, &regex, &err), -1);
    assert_string_equal(err.text, "no name of a trained parameter has a match");
    regfree(&regex);
    fixture_drop(&f);
    lora_clear(&lora);
}

/* ---- frozen parameters ---- */

static const struct {
    int         model;
    const char *freeze;
    int         first_trained;
} frozen[] = {
    { 0, "wte|wpe", 1 },
    { 0, "wpe", 0 },
    { 0, "h\\.0\\.|wpe|bias$", 0 },
    { 1, "embeddings|layer\\.0|query|key\\.bias", 2 },
    { 1, "LayerNorm|dense\\.bias", 0 },
    { 2, "word_embeddings|token_type|lm_head", 0 },
    { 3, "q_proj|gate_proj|v_proj\\.bias", 0 },
    { 3, "embed|k_proj|up_proj|o_proj\\.weight|norm", 1 },
    { 3, "embed|layers", 3 },
    { 4, "v_proj", 0 },
    { 5, "k_proj\\.weight|layernorm", 0 },
    { 6, "q_norm|layers\\.[01]\\.mlp", 0 },
};

static int lowest; /* the layer whose gradient is complete last */

static int note_layer(void *arg, int layer, struct error *err)
{
    (void)arg;
    (void)err;
    lowest = layer;
    return 0;
}

/* What is trained has the gradient that it has when all is trained, whatever is frozen. */
static void test_frozen(void **state)
{
    struct model_tuning tuning = { .lora = NULL };
    struct fixture      all, f;
    regex_t             freeze;
    double              got, want;
    size_t              m, j;
    int                 i;

    (void)state;
    for (m = 0; m < sizeof frozen / sizeof frozen[0]; m++) {
        assert_int_equal(regcomp(&freeze, frozen[m].freeze, REG_EXTENDED | REG_NOSUB), 0);
        tuning.freeze = &freeze;
        fixture_make(&all, &tiny[frozen[m].model], DTYPE_DOUBLE);
        fixture_make_tuned(&f, &tiny[frozen[m].model], &tuning, DTYPE_DOUBLE);
        assert_true(fabs(fixture_loss(&all) - fixture_loss(&f)) < 1e-12);
        lowest = f.model->layers;
        f.model->hooks.done = note_layer;
        fixture_back(&all, 0.5);
        fixture_back(&f, 0.5);
        assert_int_equal(lowest, frozen[m].first_trained);
        assert_int_equal(f.model->first_trained, frozen[m].first_trained);
        for (i = 0; i < f.model->param_count; i++) {
            const struct model_param *p = &f.model->param[i];
            const struct model_param *q = model_param_named(all.model, p->name);

            assert_true(p->is_frozen == (regexec(&freeze, p->name, 0, NULL, 0) == 0));
            for (j = 0; j < p->count && !p->is_frozen; j++) {
                got = *grad_of(&f, p->offset + j);
                want = *grad_of(&all, q->offset + j);
                if (fabs(got - want) > 1e-12)
                    fail_msg("%s, %s: %.10g instead of %.10g", frozen[m].freeze, p->name, got,
                             want);
            }
        }
        fixture_drop(&all);
        fixture_drop(&f);
        regfree(&freeze);
    }
}

/* Each layer's part of both arrays follows the last one's, and begins where it may. */
static void test_places(void **state)
{
    struct model_tuning tuning = { .freeze = NULL };
    struct fixture      f;
    struct lora         lora;
    size_t              m, next, next_frozen;
    int                 i;

    (void)state;
    for (m = 0; m < TUNED; m++) {
        lora = lora_of(tuned[m].lora);
        tuning.lora = &lora;
        fixture_make_tuned(&f, &tiny[tuned[m].model], &tuning, DTYPE_FLOAT);
        for (i = 0, next = next_frozen = 0; i < f.model->layers; i++) {
            const struct model_layer *l = &f.model->layer[i];

            assert_int_equal(l->offset, next);
            assert_int_equal(l->frozen_offset, next_frozen);
            assert_int_equal(l->count % MODEL_ALIGN, 0);
            assert_int_equal(l->frozen_bytes % MODEL_BYTES, 0);
            next += l->count;
            next_frozen += l->frozen_bytes;
        }
        assert_int_equal(next, f.model->count);
        assert_int_equal(next_frozen, f.model->frozen_bytes);
        for (i = 0; i < f.model->param_count; i++) {
            const struct model_param *p = &f.model->param[i];

            if (!p->is_frozen)
                assert_ptr_equal(model_param_at(f.model, p->offset + p->count - 1), p);
        }
        fixture_drop(&f);
        lora_clear(&lora);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_spared_by_default),
        cmocka_unit_test(test_spared_names),
        cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
