/* test_model.c - GPT-2, BERT and RoBERTa as layers over one array
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

#include "model/model.h"
#include "model/ops.h"
#include "xalloc.h"

#define SEQUENCES 2
#define LENGTH    5

static const struct model_config tiny[] = {
    { .kind = MODEL_GPT2, .vocabulary = 13, .positions = 6, .width = 12, .inner = 20, .heads = 3,
      .blocks = 2, .norm_epsilon = 1e-5, .deviation = 0.3 },
    { .kind = MODEL_BERT, .vocabulary = 13, .positions = 6, .types = 2, .width = 12, .inner = 20,
      .heads = 3, .blocks = 2, .norm_epsilon = 1e-12, .deviation = 0.3 },
    { .kind = MODEL_ROBERTA, .vocabulary = 13, .positions = 8, .types = 1, .width = 12,
      .inner = 20, .heads = 3, .blocks = 2, .norm_epsilon = 1e-5, .deviation = 0.3 },
};
#define TINY (sizeof tiny / sizeof tiny[0])

static const int32_t tokens[SEQUENCES * LENGTH] = { 3, 1, 12, 1, 0, 7, 7, 2, 5, 9 };
static const int32_t targets[SEQUENCES * LENGTH] = { 1, -1, 1, 0, -1, 7, -1, 5, 9, 11 };
static const struct model_batch batch = { .sequences = SEQUENCES, .length = LENGTH,
                                          .tokens = tokens, .targets = targets };

/* A model with all its parameters, and room for their gradient, in double or float. */
struct fixture {
    struct ops   *ops;
    struct model *model;
    void         *params, *grads;
};

static void make(struct fixture *f, const struct model_config *config, enum dtype type)
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

static void drop(struct fixture *f)
{
    model_free(f->model);
    f->ops->free(f->ops);
    free(f->params);
    free(f->grads);
}

static double loss_of(struct fixture *f)
{
    struct error err = { "" };
    double       loss;
    int          count;

    if (model_forward(f->model, &batch, &loss, &count, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(count, 7);
    return loss;
}

static void go_back(struct fixture *f, double scale)
{
    struct error err = { "" };

    if (model_backward(f->model, scale, &err) < 0)
        fail_msg("%s", err.text);
}

static struct model_config with_dropout(const struct model_config *plain)
{
    struct model_config config = *plain;

    config.embedding_dropout = 0.1;
    config.attention_dropout = 0.2;
    config.hidden_dropout = 0.3;
    return config;
}

/* Of every parameter, every element; without dropout, and with. */
static void test_gradients(void **state)
{
    const double        step = 1e-5;
    struct model_config config;
    struct fixture      f;
    size_t              m, i;

    (void)state;
    for (m = 0; m < 2 * TINY; m++) {
        config = with_dropout(&tiny[m % TINY]);
        make(&f, &config, DTYPE_DOUBLE);
        f.model->drops = m >= TINY;
        loss_of(&f);
        go_back(&f, 0.5);
        for (i = 0; i < f.model->count; i++) {
            double *p = &((double *)f.params)[i], old = *p, high, low, want;
            double  got = ((double *)f.grads)[i];

            if (model_param_at(f.model, i) == NULL) {
                assert_true(got == 0); /* padding */
                continue;
            }
            *p = old + step;
            high = loss_of(&f);
            *p = old - step;
            low = loss_of(&f);
            *p = old;
            want = 0.5 * (high - low) / (2 * step);
            if (fabs(got - want) > 1e-7 * fmax(1, fabs(want)))
                fail_msg("model %zu, %s: gradient %.10g, difference %.10g", m,
                         model_param_at(f.model, i)->name, got, want);
        }
        drop(&f);
    }
}

/* The loss of samples, each with its own number, does not depend on how they come together; and
 * another seed drops other elements. */
static void test_dropout(void **state)
{
    struct model_batch  part = batch;
    struct model_config config;
    struct fixture      f;
    struct error        err;
    double              plain, whole, sum, loss;
    size_t              m;
    int                 i, count;

    (void)state;
    for (m = 0; m < TINY; m++) {
        config = with_dropout(&tiny[m]);
        make(&f, &config, DTYPE_DOUBLE);
        plain = loss_of(&f);
        f.model->drops = true;
        f.model->drop_seed = 77;
        whole = loss_of(&f);
        assert_true(fabs(whole - plain) > 1e-3);
        part.sequences = 1;
        for (i = 0, sum = 0; i < SEQUENCES; i++, sum += loss) {
            part.tokens = tokens + i * LENGTH;
            part.targets = targets + i * LENGTH;
            part.sample = (uint64_t)i;
            assert_int_equal(model_forward(f.model, &part, &loss, &count, &err), 0);
        }
        assert_true(fabs(sum - whole) < 1e-9);
        f.model->drop_seed = 78;
        assert_true(fabs(loss_of(&f) - whole) > 1e-3);
        drop(&f);
    }
}

/* Blocks that compute twice give the same bits, and keep less. */
static void test_recompute(void **state)
{
    static const enum dtype types[] = { DTYPE_DOUBLE, DTYPE_FLOAT, DTYPE_BFLOAT16 };
    struct model_config     config;
    struct fixture          kept, again;
    struct error            err;
    size_t                  m, i, kept_bytes, again_bytes;

    (void)state;
    for (m = 0; m < TINY; m++) {
        config = with_dropout(&tiny[m]);
        config.blocks = 4;
        for (i = 0; i < 3; i++) {
            make(&kept, &config, types[i]);
            make(&again, &config, types[i]);
            kept.model->drops = again.model->drops = true;
            again.model->recomputes = true;
            assert_true(loss_of(&kept) == loss_of(&again));
            go_back(&kept, 0.5);
            go_back(&again, 0.5);
            assert_memory_equal(kept.grads, again.grads,
                                kept.model->count * dtype_size(types[i]));
            assert_int_equal(model_activations(kept.model, 8, 5, &kept_bytes, &err), 0);
            assert_int_equal(model_activations(again.model, 8, 5, &again_bytes, &err), 0);
            assert_true(again_bytes < kept_bytes / 2);
            drop(&kept);
            drop(&again);
        }
    }
}

/* A parameter that is not finite: whose it is, is named. */
static void test_bad(void **state)
{
    static const char *const places[] = { "the embeddings", "block 1 of 2", "block 2 of 2",
                                          "the head" };
    struct fixture           f;
    struct error             where;
    size_t                   m;
    int                      layer;

    (void)state;
    for (m = 0; m < TINY; m++) {
        for (layer = 0; layer < 4; layer++) {
            struct model_config config = tiny[m];

            config.blocks = 2;
            make(&f, &config, DTYPE_FLOAT);
            ((float *)f.params)[f.model->layer[layer].offset] = NAN;
            assert_false(isfinite(loss_of(&f)));
            model_name_bad(f.model, &where);
            assert_string_equal(where.text, places[layer]);
            drop(&f);
        }
    }
}

static double grad_of(const struct fixture *f, size_t i)
{
    if (f->model->type == DTYPE_DOUBLE)
        return ((double *)f->grads)[i];
    if (f->model->type == DTYPE_FLOAT)
        return (double)((float *)f->grads)[i];
    return (double)bfloat16_to_float(((uint16_t *)f->grads)[i]);
}

/* How far a parameter's gradient is from what it should be, in parts of its own length. */
static double distance(const struct fixture *got, const struct fixture *want,
                       const struct model_param *param)
{
    double length = 0, squares = 0, d;
    size_t i;

    for (i = param->offset; i < param->offset + param->count; i++) {
        d = grad_of(got, i) - grad_of(want, i);
        squares += d * d;
        length += grad_of(want, i) * grad_of(want, i);
    }
    /* A key's bias has no effect: its gradient is 0 but for rounding. */
    return sqrt(squares) / fmax(sqrt(length), 0.3);
}

static void compare(enum dtype type, const struct model_config *config, double tolerance)
{
    struct fixture want, got;
    double         exact, loss, far;
    int            i;

    make(&want, config, DTYPE_DOUBLE);
    make(&got, config, type);
    exact = loss_of(&want);
    loss = loss_of(&got);
    if (fabs(loss - exact) > tolerance * exact)
        fail_msg("%s: loss %g is not %g", dtype_name(type), loss, exact);
    go_back(&want, 1);
    go_back(&got, 1);
    for (i = 0; i < want.model->param_count; i++) {
        far = distance(&got, &want, &want.model->param[i]);
        if (far > tolerance)
            fail_msg("%s: %s is %g away", dtype_name(type), want.model->param[i].name, far);
    }
    drop(&want);
    drop(&got);
}

static void test_types(void **state)
{
    size_t m;

    (void)state;
    for (m = 0; m < TINY; m++) {
        compare(DTYPE_FLOAT, &tiny[m], 1e-5);
        compare(DTYPE_BFLOAT16, &tiny[m], 0.08);
    }
}

/* Without targets there is no loss, and no gradient. */
static void test_no_targets(void **state)
{
    int32_t            none[SEQUENCES * LENGTH];
    struct model_batch empty = batch;
    struct fixture     f;
    struct error       err;
    double             loss;
    size_t             i;
    int                count;

    (void)state;
    memset(none, 0xff, sizeof none);
    empty.targets = none;
    make(&f, &tiny[1], DTYPE_DOUBLE);
    assert_int_equal(model_forward(f.model, &empty, &loss, &count, &err), 0);
    assert_int_equal(count, 0);
    assert_true(loss == 0);
    go_back(&f, 1);
    for (i = 0; i < f.model->count; i++)
        assert_true(((double *)f.grads)[i] == 0);
    drop(&f);
}

/* Two batches after one another add up; a batch of another shape changes nothing. */
static void test_accumulates(void **state)
{
    const struct model_batch other = { .sequences = 1, .length = 3, .tokens = tokens,
                                       .targets = targets };
    struct fixture once, twice;
    struct error   err;
    double         loss;
    size_t         i;
    int            count;

    (void)state;
    make(&once, &tiny[0], DTYPE_DOUBLE);
    make(&twice, &tiny[0], DTYPE_DOUBLE);
    loss = loss_of(&once);
    go_back(&once, 2);
    assert_true(loss_of(&twice) == loss);
    go_back(&twice, 1);
    assert_int_equal(model_forward(twice.model, &other, &loss, &count, &err), 0);
    assert_int_equal(count, 2);
    loss_of(&twice);
    go_back(&twice, 1);
    for (i = 0; i < once.model->count; i++)
        assert_true(fabs(((double *)once.grads)[i] - ((double *)twice.grads)[i]) < 1e-12);
    drop(&once);
    drop(&twice);
}

static char seen[2048];

static int note(const char *what, int layer)
{
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s%d ", what, layer);
    return 0;
}

static int enter(void *arg, int layer, enum model_pass pass, struct error *err)
{
    (void)arg;
    (void)err;
    return note(pass == MODEL_FORWARD ? "e" : "E", layer);
}

static int leave(void *arg, int layer, enum model_pass pass, struct error *err)
{
    (void)arg;
    (void)err;
    return note(pass == MODEL_FORWARD ? "l" : "L", layer);
}

static int done(void *arg, int layer, struct error *err)
{
    (void)arg;
    (void)err;
    return note("done", layer);
}

/* The order that model.h promises. */
static void test_hooks(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, &tiny[0], DTYPE_FLOAT);
    f.model->hooks = (struct model_hooks){ .enter = enter, .leave = leave, .done = done };
    seen[0] = '\0';
    loss_of(&f);
    assert_string_equal(seen, "e0 l0 e1 l1 e2 l2 e3 e0 l0 l3 ");
    seen[0] = '\0';
    go_back(&f, 1);
    assert_string_equal(seen, "E3 E0 L0 L3 done3 E2 L2 done2 E1 L1 done1 E0 L0 done0 ");
    drop(&f);
}

/* Each layer's parameters may come just before it is entered, and go when it is left. */
struct holder {
    struct fixture *f;
    double         *mine; /* the parameters, where the model does not see them */
};

static int bring(void *arg, int layer, enum model_pass pass, struct error *err)
{
    struct holder            *h = arg;
    const struct model_layer *l = &h->f->model->layer[layer];

    (void)pass;
    (void)err;
    h->f->model->params[layer] = xmemdup(h->mine + l->offset, l->count * sizeof(double));
    return 0;
}

static int take_away(void *arg, int layer, enum model_pass pass, struct error *err)
{
    struct holder *h = arg;

    (void)pass;
    (void)err;
    free(h->f->model->params[layer]);
    h->f->model->params[layer] = NULL;
    return 0;
}

static void test_params_on_demand(void **state)
{
    struct fixture whole, parts;
    struct holder  holder = { .f = &parts };
    size_t         m, i;
    int            layer;

    (void)state;
    for (m = 0; m < TINY; m++) {
        make(&whole, &tiny[m], DTYPE_DOUBLE);
        make(&parts, &tiny[m], DTYPE_DOUBLE);
        holder.mine = parts.params;
        parts.model->hooks =
            (struct model_hooks){ .arg = &holder, .enter = bring, .leave = take_away };
        for (layer = 0; layer < parts.model->layers; layer++)
            parts.model->params[layer] = NULL;
        assert_true(loss_of(&whole) == loss_of(&parts));
        go_back(&whole, 1);
        go_back(&parts, 1);
        for (i = 0; i < whole.model->count; i++)
            assert_true(((double *)whole.grads)[i] == ((double *)parts.grads)[i]);
        drop(&whole);
        drop(&parts);
    }
}

static int refuse(void *arg, int layer, enum model_pass pass, struct error *err)
{
    (void)arg;
    (void)pass;
    return layer == 2 ? err_set(err, "no layer 2") : 0;
}

static void test_refused(void **state)
{
    static const int32_t bad[] = { 1, 13, 2, -1 };
    struct model_batch   wrong = { .sequences = 1, .length = 4, .tokens = bad, .targets = bad };
    struct model_config  config = tiny[0];
    struct fixture       f;
    struct error         err;
    double               loss;
    int                  count;

    (void)state;
    make(&f, &tiny[0], DTYPE_FLOAT);
    assert_int_equal(model_backward(f.model, 1, &err), -1);
    assert_non_null(strstr(err.text, "no forward pass"));
    assert_int_equal(model_forward(f.model, &wrong, &loss, &count, &err), -1);
    assert_string_equal(err.text,
                        "token 13, number 1 of the batch: out of the model's range 0 to 12");
    wrong.length = 7;
    assert_int_equal(model_forward(f.model, &wrong, &loss, &count, &err), -1);
    assert_string_equal(err.text, "sequences of 7 tokens: the model accepts at most 6");
    f.model->hooks.enter = refuse;
    assert_int_equal(model_forward(f.model, &batch, &loss, &count, &err), -1);
    assert_string_equal(err.text, "no layer 2");

    config.heads = 5;
    assert_null(model_new(&config, f.ops, &err));
    assert_string_equal(err.text, "width 12 is not a multiple of 5 heads");
    drop(&f);
}

/* The flat array: in order, aligned, without overlap, and found again. */
static void test_places(void **state)
{
    struct fixture f;
    size_t         m, next;
    int            i, layer;

    (void)state;
    for (m = 0; m < TINY; m++) {
        make(&f, &tiny[m], DTYPE_FLOAT);
        for (next = 0, i = 0; i < f.model->param_count; i++) {
            const struct model_param *p = &f.model->param[i];

            assert_true(p->offset >= next && p->offset - next < MODEL_ALIGN);
            assert_true(p->offset % MODEL_ALIGN == 0 || strstr(p->name, ".self.") != NULL);
            next = p->offset + p->count;
            assert_ptr_equal(model_param_at(f.model, p->offset), p);
            assert_ptr_equal(model_param_at(f.model, next - 1), p);
            assert_ptr_equal(model_param_named(f.model, p->name), p);
        }
        assert_null(model_param_named(f.model, "wte"));
        for (next = 0, layer = 0; layer < f.model->layers; layer++) {
            assert_int_equal(f.model->layer[layer].offset, next);
            next += f.model->layer[layer].count;
        }
        assert_int_equal(next, f.model->count);
        drop(&f);
    }
}

/* Whoever asks for a part gets the same numbers as who asks for all. */
static void test_initial_values(void **state)
{
    struct fixture f;
    float         *all, *part;
    double         sum = 0, squares = 0;
    size_t         i, n;

    (void)state;
    make(&f, &tiny[0], DTYPE_FLOAT);
    n = f.model->count;
    all = xcalloc(n, sizeof *all);
    part = xcalloc(n, sizeof *part);
    model_initial_values(f.model, 42, 0, n, all);
    for (i = 0; i < n; i += 100)
        model_initial_values(f.model, 42, i, n - i < 100 ? n - i : 100, part + i);
    assert_memory_equal(all, part, n * sizeof *all);
    model_initial_values(f.model, 43, 0, n, part);
    assert_memory_not_equal(all, part, n * sizeof *all);

    const struct model_param *p = model_param_named(f.model, "transformer.h.0.mlp.c_fc.weight");
    for (i = p->offset; i < p->offset + p->count; i++) {
        sum += (double)all[i] / (double)p->count;
        squares += (double)(all[i] * all[i]) / (double)p->count;
    }
    assert_true(fabs(sum) < 0.1 && fabs(sqrt(squares) - 0.3) < 0.05);
    assert_true(all[model_param_named(f.model, "transformer.ln_f.weight")->offset] == 1);
    free(all);
    free(part);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_no_targets),
        cmocka_unit_test(test_accumulates),
        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_params_on_demand),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_initial_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
