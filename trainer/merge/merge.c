/* merge.c - see merge.h
 *
 * Reads some rows of a weight at a time, and the whole adapter of that weight: so the memory does
 * not grow with the model.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "merge/merge.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_weights.h"
#include "model/ops.h"
#include "weights/adapter.h"
#include "weights/weights.h"
#include "xalloc.h"

enum { MERGE_OK, MERGE_FAILED, MERGE_USAGE, MERGE_HELP = -2 };

#define PART_MAX ((size_t)1 << 22) /* elements that are read at a time */

struct merge {
    const char         *model, *adapter, *export; /* directories */
    struct lora         lora;
    struct ops         *ops;
    struct model       *tuned; /* the model with its adapter, for names and places */
    struct model       *whole; /* the model alone */
    struct safetensors *base, *added; /* added: the adapter */
};

/* An adapter's matrices; a NULL: the parameter has none. */
struct low_rank {
    float *a, *b;
    size_t in, rank;
};

static const struct option longs[] = {
    { "model", required_argument, NULL, 'm' },
    { "adapter", required_argument, NULL, 'a' },
    { "export", required_argument, NULL, 'e' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static int  parse(struct merge *merge, int argc, char **argv, struct error *err);
static int  check_place(const struct merge *merge, struct error *err);
static int  load(struct merge *merge, struct error *err);
static int  write_all(struct merge *merge, struct error *err);
static int  write_param(struct merge *merge, struct safetensors_out *out, int number,
                        struct error *err);
static int  read_low_rank(struct merge *merge, const struct model_param *param,
                          struct low_rank *low, struct error *err);
static float *read_matrix(struct merge *merge, const struct model_param *param,
                          const char *suffix, const struct model_param **matrix,
                          struct error *err);
static void add(const struct merge *merge, const struct low_rank *low, size_t first,
                size_t rows, size_t columns, float *values);
static void clear(struct merge *merge);
static void print_help(FILE *out);

int merge_main(int argc, char **argv)
{
    struct merge merge = { .ops = NULL };
    struct error err;
    int          rc = parse(&merge, argc, argv, &err);

    if (rc == MERGE_HELP) {
        print_help(stdout);
        return MERGE_OK;
    }
    if (rc < 0) {
        fprintf(stderr, "muster-train: %s (see muster-train merge --help)\n", err.text);
        return MERGE_USAGE;
    }
    rc = check_place(&merge, &err);
    if (rc == 0)
        rc = load(&merge, &err);
    if (rc == 0)
        rc = write_all(&merge, &err);
    clear(&merge);
    if (rc == 0)
        return MERGE_OK;
    fprintf(stderr, "muster-train: %s\n", err.text);
    return MERGE_FAILED;
}

static int parse(struct merge *merge, int argc, char **argv, struct error *err)
{
    int option;

    opterr = 0;
    optind = 0; /* glibc: reinitialize getopt */
    while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        switch (option) {
        case 'm': merge->model = optarg; break;
        case 'a': merge->adapter = optarg; break;
        case 'e': merge->export = optarg; break;
        case 'h': return MERGE_HELP;
        case ':': return err_set(err, "option %.60s needs a value", argv[optind - 1]);
        default:  return err_set(err, "unknown option %.60s", argv[optind - 1]);
        }
    }
    if (optind < argc)
        return err_set(err, "unexpected argument '%.60s'", argv[optind]);
    if (merge->model == NULL || merge->adapter == NULL || merge->export == NULL)
        return err_set(err, "--%s is missing", merge->model == NULL     ? "model"
                                               : merge->adapter == NULL ? "adapter" : "export");
    return 0;
}

/* A merge over its own base would read what it has written. */
static int check_place(const struct merge *merge, struct error *err)
{
    if (weights_prepare(merge->export, err) < 0)
        return -1;
    if (weights_are_same(merge->export, merge->model))
        return err_set(err, "--export: %s: is the directory of the model, too", merge->export);
    if (weights_are_same(merge->export, merge->adapter))
        return err_set(err, "--export: %s: is the directory of the adapter, too", merge->export);
    return 0;
}

static int load(struct merge *merge, struct error *err)
{
    const struct model_tuning tuning = { .lora = &merge->lora };
    struct model_config       shape;
    struct error              why;
    uint64_t                  print;

    if (weights_shape(merge->model, &shape, err) < 0 || model_config_check(&shape, err) < 0 ||
        adapter_config_read(&merge->lora, merge->adapter, err) < 0 ||
        adapter_config_fits(&merge->lora, merge->adapter, &shape, err) < 0)
        return -1;
    if ((merge->ops = ops_cpu_new(DTYPE_FLOAT, err)) == NULL ||
        (merge->whole = model_new(&shape, merge->ops, err)) == NULL)
        return -1;
    merge->tuned = model_new_tuned(&shape, &tuning, merge->ops, &why);
    if (merge->tuned == NULL)
        return err_set(err, "%s: %s", merge->adapter, why.text);
    if ((merge->base = safetensors_open(merge->model, err)) == NULL ||
        model_weights_check(merge->whole, merge->base, err) < 0 ||
        weights_print(merge->base, &print, err) < 0)
        return -1;
    merge->added = adapter_open(merge->adapter, merge->tuned, print, err);
    return merge->added != NULL ? 0 : -1;
}

static int write_all(struct merge *merge, struct error *err)
{
    const enum dtype        type = model_weights_type(merge->whole, merge->base);
    struct safetensors_out *out;
    int                     i, rc = 0;

    out = model_weights_create(merge->whole, merge->export, type, WEIGHTS_FILE_MAX, err);
    if (out == NULL)
        return -1;
    for (i = 0; i < merge->whole->param_count && rc == 0; i++)
        rc = write_param(merge, out, i, err);
    if (rc == 0)
        rc = weights_write_rest(merge->export, merge->model, &merge->whole->config, type, err);
    if (rc == 0)
        return safetensors_commit(out, err);
    safetensors_discard(out);
    return -1;
}

static int write_param(struct merge *merge, struct safetensors_out *out, int number,
                       struct error *err)
{
    const struct model_param *param = &merge->whole->param[number];
    const struct model_param *tuned = model_param_named(merge->tuned, param->name);
    const size_t              columns = param->dims == 2 ? param->shape[1] : param->count;
    const size_t              all = param->count / columns;
    const size_t              most = columns > PART_MAX ? 1 : PART_MAX / columns;
    struct low_rank           low = { .a = NULL };
    float                    *values = xreallocarray(NULL, most < all ? most : all,
                                                     columns * sizeof *values);
    size_t                    row, rows;
    int                       rc = read_low_rank(merge, param, &low, err);

    for (row = 0; row < all && rc == 0; row += rows) {
        rows = all - row < most ? all - row : most;
        rc = tuned->is_frozen
                 ? model_weights_read(merge->base, param, row * columns, rows * columns, values,
                                      err)
                 : adapter_read(merge->added, param, row * columns, rows * columns, values, err);
        if (rc == 0 && low.a != NULL)
            add(merge, &low, row, rows, columns, values);
        if (rc == 0)
            rc = merge->ops->check(merge->ops, err);
        if (rc == 0)
            rc = safetensors_store(out, (size_t)number, row * columns, rows * columns, values,
                                   err);
    }
    free(low.a);
    free(low.b);
    free(values);
    return rc;
}

static int read_low_rank(struct merge *merge, const struct model_param *param,
                         struct low_rank *low, struct error *err)
{
    const struct model_param *a = NULL, *b = NULL;

    if (param->dims != 2)
        return 0;
    low->a = read_matrix(merge, param, LORA_A, &a, err);
    if (a == NULL)
        return 0;
    low->b = read_matrix(merge, param, LORA_B, &b, err);
    if (low->a == NULL || low->b == NULL)
        return -1;
    low->rank = a->shape[0];
    low->in = a->shape[1];
    return 0;
}

/* Sets matrix to NULL if the adapter has none. */
static float *read_matrix(struct merge *merge, const struct model_param *param,
                          const char *suffix, const struct model_param **matrix,
                          struct error *err)
{
    char   name[MODEL_NAME_MAX + 16];
    float *values;

    snprintf(name, sizeof name, "%.*s%s", (int)(strrchr(param->name, '.') - param->name),
             param->name, suffix);
    *matrix = model_param_named(merge->tuned, name);
    if (*matrix == NULL)
        return NULL;
    values = xreallocarray(NULL, (*matrix)->count, sizeof *values);
    if (adapter_read(merge->added, *matrix, 0, (*matrix)->count, values, err) == 0)
        return values;
    free(values);
    return NULL;
}

/* Adds scale * B A to some rows of a weight, or of its transpose, as GPT-2 stores it. */
static void add(const struct merge *merge, const struct low_rank *low, size_t first,
                size_t rows, size_t columns, float *values)
{
    const bool    is_turned = merge->whole->config.kind != MODEL_GPT2;
    const float   scale = (float)lora_scale(&merge->lora);
    struct matmul product = { .n = (int)columns, .m = (int)rows, .k = (int)low->rank,
                              .ldc = (int)columns, .batch = { 1, 1 } };
    float        *more = xreallocarray(NULL, rows, columns * sizeof *more);
    size_t        i;

    if (is_turned) {
        product.lda = (int)low->rank;
        product.ldb = (int)low->in;
        merge->ops->matmul(merge->ops, &product, low->b + first * low->rank, low->a, NULL, more);
    } else {
        product.at = product.bt = true;
        product.lda = (int)low->in;
        product.ldb = (int)low->rank;
        merge->ops->matmul(merge->ops, &product, low->a + first, low->b, NULL, more);
    }
    for (i = 0; i < rows * columns; i++)
        values[i] += scale * more[i];
    free(more);
}

static void clear(struct merge *merge)
{
    safetensors_close(merge->added);
    safetensors_close(merge->base);
    model_free(merge->tuned);
    model_free(merge->whole);
    if (merge->ops != NULL)
        merge->ops->free(merge->ops);
    lora_clear(&merge->lora);
}

static void print_help(FILE *out)
{
    fputs("Usage: muster-train merge --model DIR --adapter DIR --export DIR\n\n"
          "Writes a model with what its adapter has learnt: whole weights, as Hugging Face\n"
          "has them, in the type of the model's own.\n\n"
          "  --model DIR             config.json and weights\n"
          "  --adapter DIR           adapter_config.json and adapter_model.safetensors, as\n"
          "                          PEFT and a training with adapters write them\n"
          "  --export DIR            another directory; it is made if it is missing\n"
          "  --help                  print this help\n\n"
          "Exit status: 0 success, 1 failure, 2 usage error.\n",
          out);
}
