/* model_fixture.c - see model_fixture.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

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

void fixture_make(struct fixture *f, const struct model_config *config, enum dtype type)
{
    struct error err = { "" };
    float       *values;
    size_t       i;

    f->ops = ops_cpu_new(type, &err);
    assert_non_null(f->ops);
    f->model = model_new(config, f->ops, &err);
    if (f->model == NULL)
        fail_msg("%s", err.text);
    f->params = xcalloc(f->model->count, sizeof(double));
    f->grads = xcalloc(f->model->count, sizeof(double));
    values = xcalloc(f->model->count, sizeof *values);
    model_initial_values(f->model, 1, 0, f->model->count, values);
    for (i = 0; i < f->model->count; i++) {
        /* Biases and norms would hide mistakes while they are 0 and 1. */
        if (model_param_at(f->model, i) != NULL)
            values[i] += 0.01f * (float)(i % 7);
        if (type == DTYPE_DOUBLE)
            ((double *)f->params)[i] = (double)values[i];
        else if (type == DTYPE_FLOAT)
            ((float *)f->params)[i] = values[i];
        else
            ((uint16_t *)f->params)[i] = float_to_bfloat16(values[i]);
    }
    free(values);
    model_use_arrays(f->model, f->params, f->grads);
}

void fixture_drop(struct fixture *f)
{
    model_free(f->model);
    f->ops->free(f->ops);
    free(f->params);
    free(f->grads);
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
