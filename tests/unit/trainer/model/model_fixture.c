/* model_fixture.c - see model_fixture.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/model_fill.h"
#include "unit/trainer/model/model_fixture.h"
#include "xalloc.h"

const struct model_config tiny[TINY] = {
    { .kind = MODEL_GPT2, .vocabulary = 13, .positions = 6, .width = 12, .inner = 20, .heads = 3,
      .blocks = 2, .norm_epsilon = 1e-5, .deviation = 0.3 },
    { .kind = MODEL_BERT, .vocabulary = 13, .positions = 6, .types = 2, .width = 12, .inner = 20,
      .heads = 3, .blocks = 2, .norm_epsilon = 1e-12, .deviation = 0.3 },
    { .kind = MODEL_ROBERTA, .vocabulary = 13, .positions = 8, .types = 1, .width = 12,
      .inner = 20, .heads = 3, .blocks = 2, .norm_epsilon = 1e-5, .deviation = 0.3 },
    /* Grouped heads, a head of its own, all biases; nearly all that the others have not. */
    { .kind = MODEL_LLAMA, .vocabulary = 13, .positions = 6, .width = 12, .inner = 20, .heads = 6,
      .kv_heads = 3, .blocks = 2, .norm_epsilon = 1e-5, .deviation = 0.3, .is_untied = true,
      .qkv_bias = true, .project_bias = true, .inner_bias = true, .rope = { .theta = 100 } },
    { .kind = MODEL_MISTRAL, .vocabulary = 13, .positions = 6, .width = 12, .inner = 20,
      .heads = 3, .kv_heads = 1, .blocks = 2, .norm_epsilon = 1e-5, .deviation = 0.3,
      .window = 2, .rope = { .theta = 100 } },
    { .kind = MODEL_QWEN2, .vocabulary = 13, .positions = 6, .width = 12, .inner = 20, .heads = 2,
      .kv_heads = 2, .blocks = 2, .norm_epsilon = 1e-5, .deviation = 0.3, .qkv_bias = true,
      .window = 3, .full_blocks = 1, .rope = { .theta = 100 } },
    { .kind = MODEL_QWEN3, .vocabulary = 13, .positions = 6, .width = 10, .inner = 20, .heads = 4,
      .kv_heads = 2, .head_width = 4, .blocks = 2, .norm_epsilon = 1e-5, .deviation = 0.3,
      .head_norm = true, .rope = { .theta = 100 } },
};

const int32_t tiny_tokens[SEQUENCES * LENGTH] = { 3, 1, 12, 1, 0, 7, 7, 2, 5, 9 };
const int32_t tiny_targets[SEQUENCES * LENGTH] = { 1, -1, 1, 0, -1, 7, -1, 5, 9, 11 };
const struct model_batch tiny_batch = { .sequences = SEQUENCES, .length = LENGTH,
                                        .tokens = tiny_tokens, .targets = tiny_targets };

static int read_values(void *arg, const struct model_param *param, size_t first, size_t count,
                       float *values, struct error *err);
static void store(enum dtype type, void *to, const float *values, size_t count);

void fixture_make(struct fixture *f, const struct model_config *config, enum dtype type)
{
    fixture_make_tuned(f, config, NULL, type);
}

void fixture_make_tuned(struct fixture *f, const struct model_config *config,
                        const struct model_tuning *tuning, enum dtype type)
{
    const struct value_source source = { .read = read_values };
    struct error              err = { "" };
    float                    *values;

    f->ops = ops_cpu_new(type, &err);
    assert_non_null(f->ops);
    f->model = model_new_tuned(config, tuning, f->ops, &err);
    if (f->model == NULL)
        fail_msg("%s", err.text);
    f->params = xcalloc(f->model->count, sizeof(double));
    f->grads = xcalloc(f->model->count, sizeof(double));
    f->frozen = xcalloc(f->model->frozen_bytes + 1, 1);
    values = xcalloc(f->model->count, sizeof *values);
    if (model_fill(f->model, &source, 0, f->model->count, values, &err) < 0 ||
        model_fill_frozen(f->model, &source, 0, f->model->frozen_bytes, f->frozen, &err) < 0)
        fail_msg("%s", err.text);
    store(type, f->params, values, f->model->count);
    free(values);
    model_use_arrays(f->model, f->params, f->grads);
    model_use_frozen(f->model, f->frozen);
}

/* Biases and norms would hide mistakes while they are 0 and 1, and so would adapters. */
static int read_values(void *arg, const struct model_param *param, size_t first, size_t count,
                       float *values, struct error *err)
{
    size_t i;

    (void)arg;
    (void)err;
    model_initial_param(param, 1, first, count, values);
    for (i = 0; i < count; i++)
        values[i] += 0.01f * (float)((first + i) % 7);
    return 0;
}

static void store(enum dtype type, void *to, const float *values, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (type == DTYPE_DOUBLE)
            ((double *)to)[i] = (double)values[i];
        else if (type == DTYPE_FLOAT)
            ((float *)to)[i] = values[i];
        else
            ((uint16_t *)to)[i] = float_to_bfloat16(values[i]);
    }
}

void fixture_drop(struct fixture *f)
{
    model_free(f->model);
    f->ops->free(f->ops);
    free(f->params);
    free(f->grads);
    free(f->frozen);
}

double fixture_loss(struct fixture *f)
{
    struct error err = { "" };
    double       loss = 0;
    int          count = 0;

    if (model_forward(f->model, &tiny_batch, &err) < 0 ||
        model_loss(f->model, &loss, &count, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(count, 7);
    return loss;
}

/* After fixture_loss(), whose loss it computes again. */
void fixture_back(struct fixture *f, double scale)
{
    struct error err = { "" };
    double       loss = 0, again = 1;
    int          count;

    if (model_loss(f->model, &loss, &count, &err) < 0 ||
        model_backward(f->model, scale, &again, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(loss == again);
}
