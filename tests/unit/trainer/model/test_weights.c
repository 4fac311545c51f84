/* test_weights.c - models as Hugging Face and PyTorch have them
 *
 * unit/trainer/vectors was made by contrib/model_vectors.py.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "file.h"
#include "model/model.h"
#include "model/model_weights.h"
#include "model/ops.h"
#include "model/safetensors.h"
#include "xalloc.h"

#define VECTORS TOP_SRCDIR "/tests/unit/trainer/vectors"

static const char *const names[] = { "gpt2", "bert", "roberta", "llama", "mistral",
                                     "qwen2", "qwen3" };

struct fixture {
    struct ops         *ops;
    struct model       *model;
    struct safetensors *weights;
    float              *params, *grads;
};

static void make(struct fixture *f, const char *name)
{
    struct model_config config;
    struct error        err = { "" };
    char                path[4096], *text;
    size_t              size;

    snprintf(path, sizeof path, VECTORS "/%s/config.json", name);
    text = file_read(path, MODEL_CONFIG_MAX, &size, &err);
    if (text == NULL || model_config_parse(&config, path, text, size, &err) < 0)
        fail_msg("%s", err.text);
    free(text);
    f->ops = ops_cpu_new(DTYPE_FLOAT, &err);
    f->model = model_new(&config, f->ops, &err);
    assert_non_null(f->model);
    f->params = xcalloc(f->model->count, sizeof *f->params);
    f->grads = xcalloc(f->model->count, sizeof *f->grads);
    model_use_arrays(f->model, f->params, f->grads);
    snprintf(path, sizeof path, VECTORS "/%s", name);
    f->weights = safetensors_open(path, &err);
    if (f->weights == NULL || model_weights_check(f->model, f->weights, &err) < 0 ||
        model_weights_load(f->model, f->weights, 0, f->model->count, f->params, &err) < 0)
        fail_msg("%s", err.text);
}

static void drop(struct fixture *f)
{
    model_free(f->model);
    f->ops->free(f->ops);
    safetensors_close(f->weights);
    free(f->params);
    free(f->grads);
}

static void load_tokens(const struct safetensors *st, const char *name, int32_t *tokens,
                        size_t count)
{
    const struct safetensor *tensor = safetensors_find(st, name);
    float                    values[64];
    struct error             err;
    size_t                   i;

    assert_non_null(tensor);
    assert_int_equal(safetensors_load(st, tensor, 0, count, values, &err), 0);
    for (i = 0; i < count; i++)
        tokens[i] = (int32_t)values[i];
}

static void compare_grads(struct fixture *f, const struct safetensors *want)
{
    float       *wanted = xcalloc(f->model->count, sizeof *wanted);
    struct error err;
    size_t       i;

    assert_int_equal(model_weights_check(f->model, want, &err), 0);
    assert_int_equal(model_weights_load(f->model, want, 0, f->model->count, wanted, &err), 0);
    for (i = 0; i < f->model->count; i++)
        if (fabsf(f->grads[i] - wanted[i]) > 2e-5f * fmaxf(1, fabsf(wanted[i])))
            fail_msg("%s, element %zu: %.8g, PyTorch has %.8g",
                     model_param_at(f->model, i)->name, i, (double)f->grads[i],
                     (double)wanted[i]);
    free(wanted);
}

/* Loss and gradients of a batch, and PyTorch's. */
static void test_pytorch(void **state)
{
    struct fixture      f;
    struct safetensors *want;
    struct model_batch  batch = { .sequences = 2, .length = 6 };
    int32_t             tokens[12], targets[12];
    struct error        err = { "" };
    char                path[4096];
    double              loss = 0;
    float               wanted;
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        make(&f, names[i]);
        snprintf(path, sizeof path, VECTORS "/%s/want.safetensors", names[i]);
        want = safetensors_open(path, &err);
        if (want == NULL)
            fail_msg("%s", err.text);
        load_tokens(want, "tokens", tokens, 12);
        load_tokens(want, "targets", targets, 12);
        batch.tokens = tokens;
        batch.targets = targets;
        if (model_forward(f.model, &batch, &err) < 0 ||
            model_backward(f.model, 1, &loss, &err) < 0)
            fail_msg("%s", err.text);
        safetensors_load(want, safetensors_find(want, "loss"), 0, 1, &wanted, &err);
        if (fabs(loss - (double)wanted) > 1e-5 * loss)
            fail_msg("%s: loss %.9g, PyTorch has %.9g", names[i], loss, (double)wanted);
        compare_grads(&f, want);
        safetensors_close(want);
        drop(&f);
    }
}

static char directory[4096];

static void remove_files(void)
{
    DIR           *d = opendir(directory);
    struct dirent *entry;
    char           path[8192];

    while (d != NULL && (entry = readdir(d)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        unlink(path);
    }
    if (d != NULL)
        closedir(d);
    rmdir(directory);
}

static void write_model(struct fixture *f, enum dtype type, uint64_t file_max)
{
    struct error            err = { "" };
    struct safetensors_out *out;
    size_t                  at, n;

    out = model_weights_create(f->model, directory, type, file_max, &err);
    if (out == NULL)
        fail_msg("%s", err.text);
    /* By shares that no parameter respects, the last one first. */
    for (at = f->model->count; at > 0; at -= n) {
        n = at < 333 ? at : 333;
        if (model_weights_store(f->model, out, at - n, n, f->params + at - n, &err) < 0)
            fail_msg("%s", err.text);
    }
    if (safetensors_commit(out, &err) < 0)
        fail_msg("%s", err.text);
}

/* What is written comes back, in one file or in many, whole or in parts. */
static void test_round_trip(void **state)
{
    static const struct {
        enum dtype type;
        uint64_t   file_max;
        double     tolerance;
        int        files;
    } cases[] = { { DTYPE_FLOAT, UINT64_MAX, 0, 1 }, { DTYPE_FLOAT, 2000, 0, 0 },
                  { DTYPE_BFLOAT16, UINT64_MAX, 0.004, 1 }, { DTYPE_HALF, 3000, 0.0005, 0 },
                  { DTYPE_FLOAT, 1, 0, 28 } };
    struct fixture      f;
    struct safetensors *again;
    struct error        err = { "" };
    float              *values;
    size_t              i, j;

    (void)state;
    make(&f, "gpt2");
    values = xcalloc(f.model->count, sizeof *values);
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_model(&f, cases[i].type, cases[i].file_max);
        again = safetensors_open(directory, &err);
        if (again == NULL || model_weights_check(f.model, again, &err) < 0)
            fail_msg("%s", err.text);
        if (cases[i].files != 0)
            assert_int_equal(again->files, cases[i].files);
        else
            assert_true(again->files > 1);
        for (j = 0; j < f.model->count; j += 100)
            assert_int_equal(model_weights_load(f.model, again, j,
                                                f.model->count - j < 100 ? f.model->count - j
                                                                         : 100,
                                                values + j, &err), 0);
        for (j = 0; j < f.model->count; j++)
            assert_true(fabs((double)(values[j] - f.params[j])) <=
                        cases[i].tolerance * fabs((double)f.params[j]));
        safetensors_close(again);
        remove_files();
    }
    free(values);
    drop(&f);
}

/* Nothing is left of what was given up, and what was there stays. */
static void test_discard(void **state)
{
    struct fixture          f;
    struct error            err;
    struct safetensors_out *out;
    struct safetensors     *before;

    (void)state;
    make(&f, "bert");
    write_model(&f, DTYPE_FLOAT, UINT64_MAX);
    out = model_weights_create(f.model, directory, DTYPE_BFLOAT16, UINT64_MAX, &err);
    assert_non_null(out);
    safetensors_discard(out);
    before = safetensors_open(directory, &err);
    assert_non_null(before);
    assert_int_equal(safetensors_find(before, "cls.predictions.bias")->size, 23 * 4);
    safetensors_close(before);
    remove_files();
    drop(&f);
}

static void write_file(const char *path, const char *header, size_t claimed, size_t data)
{
    FILE  *file = fopen(path, "wb");
    size_t i;

    for (i = 0; i < 8; i++)
        fputc((int)(claimed >> 8 * i & 0xff), file);
    fputs(header, file);
    for (i = 0; i < data; i++)
        fputc((int)i, file);
    fclose(file);
}

#define TENSOR(TYPE, SHAPE, BEGIN, END) \
    "{\"dtype\":\"" TYPE "\",\"shape\":[" SHAPE "],\"data_offsets\":[" BEGIN "," END "]}"

static void test_bad_files(void **state)
{
    static const struct {
        const char *header;
        size_t      claimed, data; /* claimed 0: as long as it is */
        const char *text;
    } cases[] = {
        { "{}", SIZE_MAX, 0, "not a safetensors file, or truncated" },
        { "{}", 100000001, 0, "not a safetensors file, or truncated" },
        { "{}", 3, 0, "not a safetensors file, or truncated" },
        { "[]", 0, 0, "the header is not a JSON object" },
        { "{\"a\"", 0, 0, "header: " },
        { "{}", 0, 4, "some bytes belong to no tensor" },
        { "{\"a\":" TENSOR("F32", "1", "0", "4") "}", 0, 3, "a: it is outside the file" },
        { "{\"a\":" TENSOR("F32", "1", "0", "4") "}", 0, 5, "or leave a gap" },
        { "{\"a\":" TENSOR("F32", "2", "0", "4") "}", 0, 4,
          "its shape does not match its 4 bytes" },
        { "{\"a\":" TENSOR("F31", "1", "0", "4") "}", 0, 4, "unknown element type 'F31'" },
        { "{\"a\":" TENSOR("F32", "-1", "0", "4") "}", 0, 4,
          "its shape is not a list of non-negative integers" },
        { "{\"a\":" TENSOR("F32", "4611686018427387904,4", "0", "0") "}", 0, 0, "too large" },
        { "{\"a\":" TENSOR("F32", "4611686018427387904", "0", "0") "}", 0, 0,
          "does not match its 0 bytes" },
        { "{\"a\":" TENSOR("F32", "1", "4", "0") "}", 0, 4, "outside the file" },
        { "{\"a\":" TENSOR("F32", "1", "0", "4") ",\"b\":" TENSOR("F32", "1", "0", "4") "}", 0,
          4, "overlap" },
        { "{\"a\":" TENSOR("F32", "1", "0", "4") ",\"a\":" TENSOR("F32", "1", "4", "8") "}", 0,
          8, "duplicate" },
        { "{\"a\":" TENSOR("F32", "1,1,1,1,1,1,1,1,1", "0", "4") "}", 0, 4,
          "more than 8 dimensions" },
        { "{\"a\":7}", 0, 0, "unknown element type ''" },
    };
    struct safetensors *st;
    struct error        err;
    char                path[8192];
    size_t              i;

    (void)state;
    assert_int_equal(access(directory, F_OK), -1);
    snprintf(path, sizeof path, "%s.safetensors", directory);
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(path, cases[i].header,
                   cases[i].claimed != 0 ? cases[i].claimed : strlen(cases[i].header),
                   cases[i].data);
        st = safetensors_open(path, &err);
        if (st != NULL)
            fail_msg("%s: was taken", cases[i].header);
        if (strstr(err.text, cases[i].text) == NULL)
            fail_msg("%s: '%s' does not say '%s'", cases[i].header, err.text, cases[i].text);
    }
    unlink(path);
    assert_null(safetensors_open(path, &err));
    assert_non_null(strstr(err.text, "No such file"));
}

/* Scalars, empty tensors and types that are not taken do no harm to those beside them. */
static void test_odd_files(void **state)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"s\":" TENSOR("BF16", "", "0", "2")
        ",\"e\":" TENSOR("F32", "0,3", "2", "2") ",\"u\":" TENSOR("U8", "3", "2", "5") "}    ";
    struct safetensors *st;
    struct error        err = { "" };
    char                path[8192];
    float               value;

    (void)state;
    snprintf(path, sizeof path, "%s.safetensors", directory);
    write_file(path, header, strlen(header), 5);
    st = safetensors_open(path, &err);
    if (st == NULL)
        fail_msg("%s", err.text);
    assert_int_equal(st->tensors, 3);
    assert_int_equal(safetensors_find(st, "e")->count, 0);
    assert_int_equal(safetensors_load(st, safetensors_find(st, "s"), 0, 1, &value, &err), 0);
    assert_true(value == bfloat16_to_float(0x0100));
    assert_int_equal(safetensors_load(st, safetensors_find(st, "s"), 0, 2, &value, &err), -1);
    assert_int_equal(safetensors_load(st, safetensors_find(st, "u"), 0, 1, &value, &err), -1);
    assert_non_null(strstr(err.text, "u: element type U8 is not supported"));
    safetensors_close(st);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pytorch),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_discard),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_odd_files),
    };

    snprintf(directory, sizeof directory, "%s/muster-weights.%ld",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", (long)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
