/* model_fill.c - see model_fill.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/model_fill.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define PART_MAX ((size_t)1 << 18) /* elements that are converted at a time */

static int  fill_param(const struct model *model, const struct model_param *param,
                       const struct value_source *source, size_t from, size_t to, char *bytes,
                       struct error *err);
static int  fill_quantized(const struct model *model, const struct model_param *param,
                           const struct value_source *source, size_t from, size_t to, char *bytes,
                           struct error *err);
static int  encode(enum quant kind, const struct model_param *param, size_t first, size_t count,
                   const float *values, char *packed, struct error *err);
static void narrow(enum dtype type, void *to, const float *values, size_t count);

int model_fill(const struct model *model, const struct value_source *source, size_t first,
               size_t count, float *values, struct error *err)
{
    const size_t last = first + count;
    int          i;

    memset(values, 0, count * sizeof *values);
    for (i = 0; i < model->param_count; i++) {
        const struct model_param *param = &model->param[i];
        const size_t              end = param->offset + param->count;
        const size_t              from = first > param->offset ? first : param->offset;
        const size_t              to = last < end ? last : end;

        if (!param->is_frozen && from < to &&
            source->read(source->arg, param, from - param->offset, to - from,
                         values + (from - first), err) < 0)
            return -1;
    }
    return 0;
}

size_t model_frozen_bytes(const struct model *model, const struct model_param *param)
{
    return model_frozen_part(model, param, param->count);
}

size_t model_frozen_part(const struct model *model, const struct model_param *param, size_t count)
{
    return param->is_quantized ? quant_bytes(model->quantize, count)
                               : count * dtype_size(model->type);
}

void model_frozen_values(const struct model *model, const struct model_param *param,
                         const void *from, size_t count, float *values)
{
    if (param->is_quantized)
        quant_decode(model->quantize, from, count, values);
    else
        model_widen(model, from, count, values);
}

int model_fill_frozen(const struct model *model, const struct value_source *source, size_t first,
                      size_t count, void *bytes, struct error *err)
{
    const size_t last = first + count;
    int          i;

    memset(bytes, 0, count);
    for (i = 0; i < model->param_count; i++) {
        const struct model_param *param = &model->param[i];
        const size_t              end = param->offset + model_frozen_bytes(model, param);
        const size_t              from = first > param->offset ? first : param->offset;
        const size_t              to = last < end ? last : end;

        if (param->is_frozen && from < to &&
            (param->is_quantized ? fill_quantized : fill_param)(
                model, param, source, from - param->offset, to - param->offset,
                (char *)bytes + (from - first), err) < 0)
            return -1;
    }
    return 0;
}

/* Fills the parameter's bytes from ... to - 1. */
static int fill_param(const struct model *model, const struct model_param *param,
                      const struct value_source *source, size_t from, size_t to, char *bytes,
                      struct error *err)
{
    const size_t size = dtype_size(model->type), end = to / size;
    const size_t most = end - from / size < PART_MAX ? end - from / size : PART_MAX;
    float       *values = xreallocarray(NULL, most, sizeof *values);
    size_t       at, n;
    int          rc = 0;

    for (at = from / size; at < end && rc == 0; at += n) {
        n = end - at < PART_MAX ? end - at : PART_MAX;
        rc = source->read(source->arg, param, at, n, values, err);
        if (rc == 0)
            narrow(model->type, bytes + (at * size - from), values, n);
    }
    free(values);
    return rc;
}

/* The same for blocks, of which the first and the last may be wanted in part. */
static int fill_quantized(const struct model *model, const struct model_param *param,
                          const struct value_source *source, size_t from, size_t to, char *bytes,
                          struct error *err)
{
    const size_t size = quant_block_bytes(model->quantize);
    const size_t first = from / size * QUANT_BLOCK, last = (to + size - 1) / size * QUANT_BLOCK;
    const size_t end = last < param->count ? last : param->count;
    const size_t most = end - first < PART_MAX ? end - first : PART_MAX;
    float       *values = xreallocarray(NULL, most, sizeof *values);
    char        *packed = xmalloc(quant_bytes(model->quantize, most));
    size_t       at, n, place, begin, stop;
    int          rc = 0;

    for (at = first; at < end && rc == 0; at += n) {
        n = end - at < PART_MAX ? end - at : PART_MAX;
        place = at / QUANT_BLOCK * size;
        begin = place > from ? place : from;
        stop = place + quant_bytes(model->quantize, n);
        stop = stop < to ? stop : to;
        rc = source->read(source->arg, param, at, n, values, err);
        if (rc == 0)
            rc = encode(model->quantize, param, at, n, values, packed, err);
        if (rc == 0)
            memcpy(bytes + (begin - from), packed + (begin - place), stop - begin);
    }
    free(packed);
    free(values);
    return rc;
}

/* first: the number of the first value in the parameter. */
static int encode(enum quant kind, const struct model_param *param, size_t first, size_t count,
                  const float *values, char *packed, struct error *err)
{
    const size_t bad = quant_encode(kind, values, count, packed);

    if (bad < count)
        return err_set(err, "%s: element %zu is %g, which cannot become %s", param->name,
                       first + bad, (double)values[bad], quant_name(kind));
    return 0;
}

static void narrow(enum dtype type, void *to, const float *values, size_t count)
{
    size_t i;

    switch (type) {
    case DTYPE_FLOAT: memcpy(to, values, count * sizeof *values); break;
    case DTYPE_DOUBLE:
        for (i = 0; i < count; i++)
            ((double *)to)[i] = (double)values[i];
        break;
    default:
        for (i = 0; i < count; i++)
            ((uint16_t *)to)[i] = type == DTYPE_HALF ? float_to_half(values[i])
                                                     : float_to_bfloat16(values[i]);
    }
}

void model_widen(const struct model *model, const void *from, size_t count, float *values)
{
    size_t i;

    switch (model->type) {
    case DTYPE_FLOAT: memcpy(values, from, count * sizeof *values); break;
    case DTYPE_DOUBLE:
        for (i = 0; i < count; i++)
            values[i] = (float)((const double *)from)[i];
        break;
    default:
        for (i = 0; i < count; i++)
            values[i] = model->type == DTYPE_HALF
                            ? half_to_float(((const uint16_t *)from)[i])
                            : bfloat16_to_float(((const uint16_t *)from)[i]);
    }
}
