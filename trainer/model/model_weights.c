/* model_weights.c - see model_weights.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_weights.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_fill.h"
#include "model/safetensors_type.h"
#include "xalloc.h"

/* The part of a range of the flat array that belongs to one parameter. */
struct overlap {
    size_t begin; /* in the parameter */
    size_t at;    /* in the range */
    size_t count;
};

static const struct safetensor *find(const struct safetensors *st, const char *name);
static const struct safetensor *find_short(const struct safetensors *st, const char *name);
static void           old_name(const char *name, char old[MODEL_NAME_MAX]);
static struct overlap overlap_of(const struct model_param *param, size_t first, size_t count);

int model_weights_check(const struct model *model, const struct safetensors *st,
                        struct error *err)
{
    const struct safetensor *tensor;
    int                      i;

    for (i = 0; i < model->param_count; i++) {
        const struct model_param *param = &model->param[i];

        if (param->is_adapter)
            continue;
        tensor = find(st, param->name);
        if (tensor == NULL)
            return err_set(err, "%s: %s is missing", st->file[0].path, param->name);
        if (tensor->dims != param->dims || tensor->shape[0] != param->shape[0] ||
            (param->dims == 2 && tensor->shape[1] != param->shape[1]))
            return err_set(err, "%s: %s is not %zu x %zu, as config.json says",
                           st->file[tensor->file].path, param->name, param->shape[0],
                           param->dims == 2 ? param->shape[1] : 1);
    }
    return 0;
}

static const struct safetensor *find(const struct safetensors *st, const char *name)
{
    const struct safetensor *tensor = find_short(st, name);
    char                     old[MODEL_NAME_MAX];

    if (tensor != NULL)
        return tensor;
    old_name(name, old);
    return find_short(st, old);
}

static const struct safetensor *find_short(const struct safetensors *st, const char *name)
{
    const struct safetensor *tensor = safetensors_find(st, name);

    return tensor != NULL ? tensor : safetensors_find(st, strchr(name, '.') + 1);
}

/* Returns TensorFlow's name: "LayerNorm.gamma" for "LayerNorm.weight". */
static void old_name(const char *name, char old[MODEL_NAME_MAX])
{
    const char *norm = strstr(name, "LayerNorm.");
    const char *last = strrchr(name, '.') + 1;

    snprintf(old, MODEL_NAME_MAX, "%s", name);
    if (norm != NULL)
        snprintf(old + (last - name), MODEL_NAME_MAX - (size_t)(last - name), "%s",
                 strcmp(last, "weight") == 0 ? "gamma" : "beta");
}

int model_weights_read(void *weights, const struct model_param *param, size_t first, size_t count,
                       float *values, struct error *err)
{
    const struct safetensors *st = weights;
    const struct safetensor  *tensor = find(st, param->name);

    if (tensor == NULL)
        return err_set(err, "%s: %s is missing", st->file[0].path, param->name);
    return safetensors_load(st, tensor, first, count, values, err);
}

enum dtype model_weights_type(const struct model *model, const struct safetensors *st)
{
    static const enum dtype  types[] = { DTYPE_HALF, DTYPE_BFLOAT16 };
    const struct safetensor *tensor = find(st, model->param[0].name);
    size_t                   i;

    for (i = 0; i < sizeof types / sizeof types[0]; i++)
        if (tensor != NULL && tensor->type == safetensors_type_of(types[i]))
            return types[i];
    return DTYPE_FLOAT;
}

int model_weights_load(const struct model *model, const struct safetensors *st, size_t first,
                       size_t count, float *values, struct error *err)
{
    const struct value_source source = { .arg = (void *)st, .read = model_weights_read };

    return model_fill(model, &source, first, count, values, err);
}

static struct overlap overlap_of(const struct model_param *param, size_t first, size_t count)
{
    const size_t begin = first > param->offset ? first : param->offset;
    const size_t last = first + count, end = param->offset + param->count;

    if (begin >= last || begin >= end)
        return (struct overlap){ 0 };
    return (struct overlap){ .begin = begin - param->offset, .at = begin - first,
                             .count = (last < end ? last : end) - begin };
}

struct safetensors_out *model_weights_create(const struct model *model, const char *directory,
                                             enum dtype type, uint64_t file_max,
                                             struct error *err)
{
    struct safetensors_shape *shapes = xcalloc((size_t)model->param_count, sizeof *shapes);
    struct safetensors_out   *out;
    int                       i;

    for (i = 0; i < model->param_count; i++) {
        const struct model_param *param = &model->param[i];

        shapes[i] = (struct safetensors_shape){ .name = param->name, .dims = param->dims,
                                                .shape = { param->shape[0], param->shape[1] } };
    }
    out = safetensors_create(directory, shapes, (size_t)model->param_count, type, file_max, err);
    free(shapes);
    return out;
}

int model_weights_store(const struct model *model, struct safetensors_out *out, size_t first,
                        size_t count, const float *values, struct error *err)
{
    int i;

    for (i = 0; i < model->param_count; i++) {
        const struct overlap o = overlap_of(&model->param[i], first, count);

        if (!model->param[i].is_frozen && o.count > 0 &&
            safetensors_store(out, (size_t)i, o.begin, o.count, values + o.at, err) < 0)
            return -1;
    }
    return 0;
}
