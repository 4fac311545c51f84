/* test_model.c - models of all families as layers over one array
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

#include "unit/trainer/model/model_fixture.h"
#include "xalloc.h"

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
    struct error   err;
    double         loss;
    int            count;

    (void)state;
    fixture_make(&f, &tiny[0], DTYPE_FLOAT);
    f.model->hooks = (struct model_hooks){ .enter = enter, .leave = leave, .done = done };
    seen[0] = '\0';
    assert_int_equal(model_forward(f.model, &tiny_batch, &err), 0);
    assert_string_equal(seen, "e0 l0 e1 l1 e2 l2 ");
    seen[0] = '\0';
    assert_int_equal(model_loss(f.model, &loss, &count, &err), 0);
    assert_string_equal(seen, "e3 e0 l0 l3 ");
    seen[0] = '\0';
    assert_int_equal(model_backward(f.model, 1, &loss, &err), 0);
    assert_string_equal(seen, "E3 E0 L0 L3 done3 E2 L2 done2 E1 L1 done1 E0 L0 done0 ");
    fixture_drop(&f);
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
        fixture_make(&whole, &tiny[m], DTYPE_DOUBLE);
        fixture_make(&parts, &tiny[m], DTYPE_DOUBLE);
        holder.mine = parts.params;
        parts.model->hooks =
            (struct model_hooks){ .arg = &holder, .enter = bring, .leave = take_away };
        for (layer = 0; layer < parts.model->layers; layer++)
            parts.model->params[layer] = NULL;
        assert_true(fixture_loss(&whole) == fixture_loss(&parts));
        fixture_back(&whole, 1);
        fixture_back(&parts, 1);
        for (i = 0; i < whole.model->count; i++)
            assert_true(((double *)whole.grads)[i] == ((double *)parts.grads)[i]);
        fixture_drop(&whole);
        fixture_drop(&parts);
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
    static const int32_t late[] = { 0, 0, 1, 3, 3, 0, 0, 0, 0, 0 };
    static const int32_t none[] = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };
    struct model_batch   wrong = { .sequences = 1, .length = 4, .tokens = bad, .targets = bad };
    struct model_config  config = tiny[0];
    struct fixture       f;
    struct error         err;
    double               loss;

    (void)state;
    fixture_make(&f, &tiny[0], DTYPE_FLOAT);
    assert_int_equal(model_backward(f.model, 1, &loss, &err), -1);
    assert_non_null(strstr(err.text, "no forward pass"));
    assert_int_equal(model_forward(f.model, &wrong, &err), -1);
    assert_string_equal(err.text,
                        "token 13, number 1 of the batch: out of the model's range 0 to 12");
    wrong.length = 7;
    assert_int_equal(model_forward(f.model, &wrong, &err), -1);
    assert_string_equal(err.text, "sequences of 7 tokens: the model accepts at most 6");
    wrong = tiny_batch;
    wrong.begins = late;
    assert_int_equal(model_forward(f.model, &wrong, &err), -1);
    assert_string_equal(err.text, "token 2 of the batch: its document cannot begin at 1");
    wrong.targets = none;
    wrong.begins = NULL;
    assert_int_equal(model_forward(f.model, &wrong, &err), 0);
    assert_null(model_logits(f.model, &err));
    assert_string_equal(err.text, "no token of the batch has a target");
    f.model->hooks.enter = refuse;
    assert_int_equal(model_forward(f.model, &tiny_batch, &err), -1);
    assert_string_equal(err.text, "no layer 2");

    config.heads = 5;
    assert_null(model_new(&config, f.ops, &err));
    assert_string_equal(err.text, "width 12 is not a multiple of 5 heads");
    fixture_drop(&f);

    fixture_make(&f, &tiny[1], DTYPE_FLOAT); /* BERT */
    wrong = tiny_batch;
    wrong.begins = late;
    assert_int_equal(model_forward(f.model, &wrong, &err), -1);
    assert_string_equal(err.text, "BERT cannot train on several documents in a sequence");
    fixture_drop(&f);
}

/* The flat array: in order, aligned, without overlap, and found again. */
static void test_places(void **state)
{
    struct fixture f;
    size_t         m, next;
    int            i, layer;

    (void)state;
    for (m = 0; m < TINY; m++) {
        fixture_make(&f, &tiny[m], DTYPE_FLOAT);
        for (next = 0, i = 0; i < f.model->param_count; i++) {
            const struct model_param *p = &f.model->param[i];

            assert_true(p->offset >= next && p->offset - next < MODEL_ALIGN);
            assert_true(p->offset % MODEL_ALIGN == 0 || strstr(p->name, ".self") != NULL ||
                        strstr(p->name, ".up_proj.") != NULL);
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
        fixture_drop(&f);
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
    fixture_make(&f, &tiny[0], DTYPE_FLOAT);
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
    fixture_drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_params_on_demand),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_initial_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
