/* weights.c - see weights.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/weights.h"

#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "model/model_weights.h"
#include "xalloc.h"

#define FILE_MAX (UINT64_C(5) << 30) /* bytes; Hugging Face's own default */

static int export_layers(struct safetensors_out *out, const struct model *model,
                         struct zero *zero, struct error *err);
static int store_layer(struct safetensors_out *out, const struct model *model, int layer,
                       struct zero *zero, const void *params, struct error *err);

bool weights_are_in(const char *dir)
{
    char *one = xasprintf("%s/model.safetensors", dir);
    char *many = xasprintf("%s/model.safetensors.index.json", dir);
    bool  are = access(one, F_OK) == 0 || access(many, F_OK) == 0;

    free(one);
    free(many);
    return are;
}

int weights_shape(const char *dir, struct model_config *shape, struct error *err)
{
    char  *path = xasprintf("%s/config.json", dir);
    size_t size;
    char  *text = file_read(path, MODEL_CONFIG_MAX, &size, err);
    int    rc = text != NULL ? model_config_parse(shape, path, text, size, err) : -1;

    free(text);
    free(path);
    return rc;
}

int weights_load(const char *dir, const struct model *model, struct zero_piece *pieces,
                 int count, struct error *err)
{
    struct safetensors *st = safetensors_open(dir, err);
    int                 i, rc;

    if (st == NULL)
        return -1;
    rc = model_weights_check(model, st, err);
    for (i = 0; i < count && rc == 0; i++) {
        rc = zero_piece_take(&pieces[i], err);
        if (rc < 0)
            break;
        rc = model_weights_load(model, st, pieces[i].start, pieces[i].count, pieces[i].param,
                                err);
        zero_piece_give(&pieces[i], true);
    }
    safetensors_close(st);
    return rc;
}

int weights_export(const char *dir, const struct world *world, const struct model *model,
                   struct zero *zero, struct error *err)
{
    struct safetensors_out *out = NULL;

    if (world->rank == 0) {
        out = model_weights_create(model, dir, model->type, FILE_MAX, err);
        if (out == NULL)
            return -1;
    }
    if (export_layers(out, model, zero, err) < 0) {
        safetensors_discard(out);
        return -1;
    }
    return out != NULL ? safetensors_commit(out, err) : 0;
}

/* out: NULL on ranks that only take part in gathering. */
static int export_layers(struct safetensors_out *out, const struct model *model,
                         struct zero *zero, struct error *err)
{
    void *params;
    int   layer, rc = 0;

    for (layer = 0; layer < model->layers && rc == 0; layer++) {
        if (zero_enter(zero, layer, false, &params, NULL, err) < 0)
            return -1;
        if (out != NULL)
            rc = store_layer(out, model, layer, zero, params, err);
        zero_leave(zero, layer);
    }
    return rc;
}

static int store_layer(struct safetensors_out *out, const struct model *model, int layer,
                       struct zero *zero, const void *params, struct error *err)
{
    const struct model_layer *at = &model->layer[layer];
    const size_t              size = dtype_size(model->type);
    float                    *values = xreallocarray(NULL, at->count, sizeof *values);
    uint16_t                 *narrow = xreallocarray(NULL, at->count, sizeof *narrow);
    const bool                is_float = model->type == DTYPE_FLOAT;
    int                       rc;
    size_t                    i;

    rc = zero_read(zero, is_float ? (void *)values : narrow, params, at->count * size, err);
    for (i = 0; i < at->count && rc == 0 && !is_float; i++)
        values[i] = model->type == DTYPE_HALF ? half_to_float(narrow[i])
                                              : bfloat16_to_float(narrow[i]);
    if (rc == 0)
        rc = model_weights_store(model, out, at->offset, at->count, values, err);
    free(narrow);
    free(values);
    return rc;
}
