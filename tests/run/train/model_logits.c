/* model_logits.c - the logits of a model for a text, in float, for run/train/transformers.t
 *
 *     model_logits DIR TEXT LENGTH OUT
 *
 * DIR has config.json and weights. TEXT is cut into samples of LENGTH bytes, which are tokens; the
 * last byte, which has no successor, is left out. OUT gets a row of floats for each token.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm/dtype.h"
#include "file.h"
#include "model/model.h"
#include "model/model_weights.h"
#include "model/ops.h"
#include "xalloc.h"

#define TEXT_MAX 65536

static struct model *load(const char *dir, struct error *err);
static int           write_logits(struct model *model, const char *text, int count, int length,
                                  const char *path, struct error *err);

int main(int argc, char **argv)
{
    struct error  err = { .text = "usage: model_logits DIR TEXT LENGTH OUT" };
    struct model *model;
    char         *text;
    size_t        size;
    int           length;

    if (argc != 5 || (length = atoi(argv[3])) < 1 ||
        (text = file_read(argv[2], TEXT_MAX, &size, &err)) == NULL ||
        (model = load(argv[1], &err)) == NULL ||
        write_logits(model, text, (int)(size - 1) / length, length, argv[4], &err) < 0) {
        fprintf(stderr, "model_logits: %s\n", err.text);
        return 1;
    }
    return 0;
}

static struct model *load(const char *dir, struct error *err)
{
    char               *path = xasprintf("%s/config.json", dir);
    size_t              size;
    char               *text = file_read(path, MODEL_CONFIG_MAX, &size, err);
    struct safetensors *st = safetensors_open(dir, err);
    struct model_config config;
    struct model       *model;
    struct ops         *ops;
    float              *params;

    if (text == NULL || st == NULL || model_config_parse(&config, path, text, size, err) < 0 ||
        (ops = ops_cpu_new(DTYPE_FLOAT, err)) == NULL ||
        (model = model_new(&config, ops, err)) == NULL ||
        model_weights_check(model, st, err) < 0)
        return NULL;
    params = xcalloc(model->count, sizeof *params);
    model_use_arrays(model, params, NULL);
    if (model_weights_load(model, st, 0, model->count, params, err) < 0)
        return NULL;
    safetensors_close(st);
    free(text);
    free(path);
    return model;
}

static int write_logits(struct model *model, const char *text, int count, int length,
                        const char *path, struct error *err)
{
    const int          rows = count * length;
    const size_t       size = (size_t)rows * (size_t)model->config.vocabulary;
    int32_t           *tokens = xcalloc((size_t)rows, sizeof *tokens);
    struct model_batch batch = { .sequences = count, .length = length, .tokens = tokens,
                                 .targets = tokens };
    const void        *logits;
    FILE              *out;
    int                i;

    for (i = 0; i < rows; i++)
        tokens[i] = (unsigned char)text[i];
    if (model_forward(model, &batch, err) < 0 || (logits = model_logits(model, err)) == NULL)
        return -1;
    out = fopen(path, "w");
    if (out == NULL || fwrite(logits, sizeof(float), size, out) != size || fclose(out) != 0)
        return err_set(err, "cannot write %s", path);
    free(tokens);
    return 0;
}
