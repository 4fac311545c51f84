/* test_passes.c - the forward and backward passes of models of all families
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

#include "model/model_run.h"
#include "unit/trainer/model/model_fixture.h"
#include "xalloc.h"

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
    const double        step = 3e-6;
    struct model_config config;
    struct fixture      f;
    size_t              m, i;

    (void)state;
    for (m = 0; m < 2 * TINY; m++) {
        config = with_dropout(&tiny[m % TINY]);
        fixture_make(&f, &config, DTYPE_DOUBLE);
        f.model->drops = m >= TINY;
        fixture_loss(&f);
        fixture_back(&f, 0.5);
        for (i = 0; i < f.model->count; i++) {
            double *p = &((double *)f.params)[i], old = *p, high, low, want;
            double  got = ((double *)f.grads)[i];

            if (model_param_at(f.model, i) == NULL) {
                assert_true(got == 0); /* padding */
                continue;
            }
            *p = old + step;
            high = fixture_loss(&f);
            *p = old - step;
            low = fixture_loss(&f);
            *p = old;
            want = 0.5 * (high - low) / (2 * step);
            if (fabs(got - want) > 1e-7 * fmax(1, fabs(want)))
                fail_msg("model %zu, %s: gradient %.10g, difference %.10g", m,
                         model_param_at(f.model, i)->name, got, want);
        }
        fixture_drop(&f);
    }
}

/* What is counted before is what is allocated then. */
static void test_needs(void **state)
{
    struct fixture f;
    struct error   err;
    size_t         needs, parked, bytes, kept, m;
    int            recomputes;

    (void)state;
    for (m = 0; m < 2 * TINY; m++) {
        fixture_make(&f, &tiny[m % TINY], DTYPE_FLOAT);
        recomputes = f.model->recomputes = f.model->parks = m >= TINY;
        assert_int_equal(model_needs(f.model, 3, LENGTH, &needs, &parked, &err), 0);
        assert_null(f.model->run);
        assert_int_equal(model_activations(f.model, 3, LENGTH, &bytes, &kept, &err), 0);
        assert_int_equal(parked, kept);
        assert_true(recomputes ? parked > 0 : parked == 0);
        assert_in_range(needs, f.model->run->taken + 1, f.model->run->taken + 20000);
        assert_in_range(needs, bytes, f.model->run->taken + 20000);
        assert_int_equal(model_needs(f.model, 3, model_longest(&tiny[m % TINY]) + 1, &needs,
                                     &parked, &err), -1);
        fixture_drop(&f);
    }
}

/* The loss of samples, each with its own number, does not depend on how they come together; and
 * another seed drops other elements. */
static void test_dropout(void **state)
{
    struct model_batch  part = tiny_batch;
    struct model_config config;
    struct fixture      f;
    struct error        err;
    double              plain, whole, sum, loss;
    size_t              m;
    int                 i, count;

    (void)state;
    for (m = 0; m < TINY; m++) {
        config = with_dropout(&tiny[m]);
        fixture_make(&f, &config, DTYPE_DOUBLE);
        plain = fixture_loss(&f);
        f.model->drops = true;
        f.model->drop_seed = 77;
        whole = fixture_loss(&f);
        assert_true(fabs(whole - plain) > 1e-3);
        part.sequences = 1;
        for (i = 0, sum = 0; i < SEQUENCES; i++, sum += loss) {
            part.tokens = tiny_tokens + i * LENGTH;
            part.targets = tiny_targets + i * LENGTH;
            part.sample = (uint64_t)i;
            assert_int_equal(model_forward(f.model, &part, &err), 0);
            assert_int_equal(model_loss(f.model, &loss, &count, &err), 0);
        }
        assert_true(fabs(sum - whole) < 1e-9);
        f.model->drop_seed = 78;
        assert_true(fabs(fixture_loss(&f) - whole) > 1e-3);
        fixture_drop(&f);
    }
}

/* Blocks that compute twice give the same bits, and keep less. */
static void test_recompute(void **state)
{
    static const enum dtype types[] = { DTYPE_DOUBLE, DTYPE_FLOAT, DTYPE_BFLOAT16 };
    struct model_config     config;
    struct fixture          kept, again;
    struct error            err;
    size_t                  m, i, kept_bytes, again_bytes, parked;

    (void)state;
    for (m = 0; m < TINY; m++) {
        config = with_dropout(&tiny[m]);
        config.blocks = 4;
        for (i = 0; i < 3; i++) {
            fixture_make(&kept, &config, types[i]);
            fixture_make(&again, &config, types[i]);
            kept.model->drops = again.model->drops = true;
            again.model->recomputes = true;
            assert_true(fixture_loss(&kept) == fixture_loss(&again));
            fixture_back(&kept, 0.5);
            fixture_back(&again, 0.5);
            assert_memory_equal(kept.grads, again.grads,
                                kept.model->count * dtype_size(types[i]));
            assert_int_equal(model_activations(kept.model, 8, 5, &kept_bytes, &parked, &err), 0);
            assert_int_equal(parked, 0);
            assert_int_equal(model_activations(again.model, 8, 5, &again_bytes, &parked, &err),
                             0);
            assert_int_equal(parked, 0);
            assert_true(again_bytes < kept_bytes / 2);
            fixture_drop(&kept);
            fixture_drop(&again);
        }
    }
}

/* So do those whose inputs are parked on the host, in any order of passes, and keep still less. */
static void test_parked(void **state)
{
    struct model_config config;
    struct fixture      kept, parked;
    struct error        err;
    size_t              m, all, less, away, one;
    int                 blocks;

    (void)state;
    for (m = 0; m < TINY; m++) {
        for (blocks = 1; blocks < 7; blocks++) {
            config = with_dropout(&tiny[m]);
            config.blocks = blocks;
            fixture_make(&kept, &config, DTYPE_DOUBLE);
            fixture_make(&parked, &config, DTYPE_DOUBLE);
            kept.model->recomputes = parked.model->recomputes = parked.model->parks = true;
            assert_true(fixture_loss(&kept) == fixture_loss(&parked));
            fixture_back(&kept, 0.5);
            assert_true(fixture_loss(&parked) == fixture_loss(&parked));
            model_name_bad(parked.model, &err);
            assert_string_equal(err.text, "the head"); /* no layer before it is bad */
            fixture_back(&parked, 0.5);
            assert_memory_equal(kept.grads, parked.grads, kept.model->count * sizeof(double));
            assert_int_equal(model_activations(kept.model, SEQUENCES, LENGTH, &all, &away, &err),
                             0);
            assert_int_equal(away, 0);
            assert_int_equal(model_activations(parked.model, SEQUENCES, LENGTH, &less, &away,
                                               &err), 0);
            one = (size_t)(SEQUENCES * LENGTH * config.width) * sizeof(double);
            assert_int_equal(away, (size_t)blocks * one);
            assert_int_equal(all - less, blocks < 2 ? 0 : (size_t)(blocks - 2) * one);
            fixture_drop(&kept);
            fixture_drop(&parked);
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
            fixture_make(&f, &config, DTYPE_FLOAT);
            ((float *)f.params)[f.model->layer[layer].offset] = NAN;
            assert_false(isfinite(fixture_loss(&f)));
            model_name_bad(f.model, &where);
            assert_string_equal(where.text, places[layer]);
            fixture_drop(&f);
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

    fixture_make(&want, config, DTYPE_DOUBLE);
    fixture_make(&got, config, type);
    exact = fixture_loss(&want);
    loss = fixture_loss(&got);
    if (fabs(loss - exact) > tolerance * exact)
        fail_msg("%s: loss %g is not %g", dtype_name(type), loss, exact);
    fixture_back(&want, 1);
    fixture_back(&got, 1);
    for (i = 0; i < want.model->param_count; i++) {
        far = distance(&got, &want, &want.model->param[i]);
        if (far > tolerance)
            fail_msg("%s: %s is %g away", dtype_name(type), want.model->param[i].name, far);
    }
    fixture_drop(&want);
    fixture_drop(&got);
}

static void test_types(void **state)
{
    struct model_config config;
    size_t              m;

    (void)state;
    for (m = 0; m < TINY; m++) {
        config = tiny[m];
        config.deviation = 0.1; /* larger weights amplify what 16 bits round off */
        compare(DTYPE_FLOAT, &config, 1e-5);
        compare(DTYPE_BFLOAT16, &config, 0.1);
    }
}

/* Without targets there is no loss, and no gradient. */
static void test_no_targets(void **state)
{
    int32_t            none[SEQUENCES * LENGTH];
    struct model_batch empty = tiny_batch;
    struct fixture     f;
    struct error       err;
    double             loss;
    size_t             i;
    int                count;

    (void)state;
    memset(none, 0xff, sizeof none);
    empty.targets = none;
    fixture_make(&f, &tiny[1], DTYPE_DOUBLE);
    assert_int_equal(model_forward(f.model, &empty, &err), 0);
    assert_int_equal(model_loss(f.model, &loss, &count, &err), 0);
    assert_int_equal(count, 0);
    assert_true(loss == 0);
    fixture_back(&f, 1);
    for (i = 0; i < f.model->count; i++)
        assert_true(((double *)f.grads)[i] == 0);
    fixture_drop(&f);
}

/* Two batches after one another add up; a batch of another shape changes nothing. */
static void test_accumulates(void **state)
{
    const struct model_batch other = { .sequences = 1, .length = 3, .tokens = tiny_tokens,
                                       .targets = tiny_targets };
    struct fixture once, twice;
    struct error   err;
    double         loss;
    size_t         i;
    int            count;

    (void)state;
    fixture_make(&once, &tiny[0], DTYPE_DOUBLE);
    fixture_make(&twice, &tiny[0], DTYPE_DOUBLE);
    loss = fixture_loss(&once);
    fixture_back(&once, 2);
    assert_true(fixture_loss(&twice) == loss);
    fixture_back(&twice, 1);
    assert_int_equal(model_forward(twice.model, &other, &err), 0);
    assert_int_equal(model_loss(twice.model, &loss, &count, &err), 0);
    assert_int_equal(count, 2);
    fixture_loss(&twice);
    fixture_back(&twice, 1);
    for (i = 0; i < once.model->count; i++)
        assert_true(fabs(((double *)once.grads)[i] - ((double *)twice.grads)[i]) < 1e-12);
    fixture_drop(&once);
    fixture_drop(&twice);
}

/* However many tokens the head has at a time, the loss and the gradients are the same. */
static void test_head_rows(void **state)
{
    struct fixture whole, parts;
    struct error   err;
    const double  *logits;
    double         loss, log_sum, sum = 0;
    size_t         m, i;
    int            rows, row, word, at = 0;

    (void)state;
    for (m = 0; m < TINY; m++) {
        fixture_make(&whole, &tiny[m], DTYPE_DOUBLE);
        loss = fixture_loss(&whole);
        fixture_back(&whole, 1);
        for (rows = 1; rows < 9; rows++) {
            fixture_make(&parts, &tiny[m], DTYPE_DOUBLE);
            parts.model->head_rows = rows;
            assert_true(fabs(fixture_loss(&parts) - loss) < 1e-12);
            fixture_back(&parts, 1);
            for (i = 0; i < whole.model->count; i++)
                assert_true(fabs(((double *)whole.grads)[i] - ((double *)parts.grads)[i]) < 1e-12);
            fixture_drop(&parts);
        }
        fixture_loss(&whole);
        logits = model_logits(whole.model, &err);
        assert_non_null(logits);
        for (row = 0, at = 0, sum = 0; row < SEQUENCES * LENGTH; row++) {
            if (tiny_targets[row] < 0)
                continue;
            for (log_sum = 0, word = 0; word < 13; word++)
                log_sum += exp(logits[at * 13 + word]);
            sum += log(log_sum) - logits[at++ * 13 + tiny_targets[row]];
        }
        assert_true(fabs(sum - loss) < 1e-12);
        fixture_drop(&whole);
    }
}

/* Several documents in a sequence have the loss and the gradients that they have alone. */
static void test_documents(void **state)
{
    static const int32_t begins[SEQUENCES * LENGTH] = { 0, 0, 2, 2, 4, 0, 0, 0, 0, 4 };
    static const int     first[] = { 0, 2, 4, 5, 9, 10 };
    struct model_batch   packed = tiny_batch, alone = { .sequences = 1 };
    struct fixture       one, many;
    struct error         err;
    double               loss, sum, part;
    size_t               m, i;

    (void)state;
    packed.begins = begins;
    for (m = TINY_ROTARY; m < TINY; m++) {
        fixture_make(&one, &tiny[m], DTYPE_DOUBLE);
        fixture_make(&many, &tiny[m], DTYPE_DOUBLE);
        assert_int_equal(model_forward(many.model, &packed, &err), 0);
        assert_int_equal(model_backward(many.model, 1, &loss, &err), 0);
        for (sum = 0, i = 0; i < 5; i++, sum += part) {
            alone.length = first[i + 1] - first[i];
            alone.tokens = tiny_tokens + first[i];
            alone.targets = tiny_targets + first[i];
            assert_int_equal(model_forward(one.model, &alone, &err), 0);
            assert_int_equal(model_backward(one.model, 1, &part, &err), 0);
        }
        assert_true(fabs(sum - loss) < 1e-9);
        for (i = 0; i < one.model->count; i++)
            assert_true(fabs(((double *)one.grads)[i] - ((double *)many.grads)[i]) < 1e-9);
        fixture_drop(&one);
        fixture_drop(&many);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_parked),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_no_targets),
        cmocka_unit_test(test_accumulates),
        cmocka_unit_test(test_head_rows),
        cmocka_unit_test(test_documents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
