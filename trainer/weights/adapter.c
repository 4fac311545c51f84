/* adapter.c - see adapter.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "weights/adapter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/safetensors.h"
#include "xalloc.h"

#define PREFIX "base_model.model."
#define STEM   "adapter_model"

static struct safetensors *open_file(const char *dir, struct error *err);
static int  judge(const struct safetensors *st, const struct model *model, uint64_t base,
                  struct error *err);
static int  judge_base(const struct safetensors *st, uint64_t base, struct error *err);
static int  judge_param(const struct safetensors *st, const struct model_param *param,
                        struct error *err);
static const struct safetensor *find(const struct safetensors *st, const char *name);
static struct safetensors_out *create(const char *dir, const struct model *model, int *number,
                                      uint64_t base, struct error *err);

struct safetensors *adapter_open(const char *dir, const struct model *model, uint64_t base,
                                 struct error *err)
{
    struct safetensors *st = open_file(dir, err);

    if (st == NULL || judge(st, model, base, err) == 0)
        return st;
    safetensors_close(st);
    return NULL;
}

static struct safetensors *open_file(const char *dir, struct error *err)
{
    char               *path = xasprintf("%s/" STEM ".safetensors", dir);
    char               *old = xasprintf("%s/" STEM ".bin", dir);
    struct safetensors *st = NULL;

    if (access(path, F_OK) < 0 && access(old, F_OK) == 0)
        err_set(err, "%s is a Python pickle, which may run code: save the adapter again, as "
                     "safetensors", old);
    else
        st = safetensors_open(path, err);
    free(path);
    free(old);
    return st;
}

static int judge(const struct safetensors *st, const struct model *model, uint64_t base,
                 struct error *err)
{
    const size_t              prefix = strlen(PREFIX);
    const struct model_param *param;
    size_t                    i;
    int                       j;

    if (judge_base(st, base, err) < 0)
        return -1;
    for (j = 0; j < model->param_count; j++)
        if (!model->param[j].is_frozen && judge_param(st, &model->param[j], err) < 0)
            return -1;
    for (i = 0; i < st->tensors; i++) {
        param = strncmp(st->tensor[i].name, PREFIX, prefix) == 0
                    ? model_param_named(model, st->tensor[i].name + prefix)
                    : NULL;
        if (param == NULL || param->is_frozen)
            return err_set(err, "%s: %.128s is of nothing that adapter_config.json names in this "
                                "model", st->file[0].path, st->tensor[i].name);
    }
    return 0;
}

static int judge_base(const struct safetensors *st, uint64_t base, struct error *err)
{
    char own[SAFETENSORS_NOTE_MAX];

    snprintf(own, sizeof own, "%016" PRIx64, base);
    if (base == 0 || st->note[0] == '\0' || strcmp(own, st->note) == 0)
        return 0;
    return err_set(err, "%s: this adapter was trained with another base: --model has other "
                        "weights", st->file[0].path);
}

static int judge_param(const struct safetensors *st, const struct model_param *param,
                       struct error *err)
{
    const struct safetensor *tensor = find(st, param->name);

    if (tensor == NULL)
        return err_set(err, "%s: " PREFIX "%s is missing", st->file[0].path, param->name);
    if (tensor->dims != param->dims || tensor->shape[0] != param->shape[0] ||
        (param->dims == 2 && tensor->shape[1] != param->shape[1]))
        return err_set(err, "%s: " PREFIX "%s is not %zu x %zu: is it of another model?",
                       st->file[0].path, param->name, param->shape[0],
                       param->dims == 2 ? param->shape[1] : 1);
    return 0;
}

static const struct safetensor *find(const struct safetensors *st, const char *name)
{
    char whole[MODEL_NAME_MAX + sizeof PREFIX];

    snprintf(whole, sizeof whole, PREFIX "%s", name);
    return safetensors_find(st, whole);
}

int adapter_read(void *adapter, const struct model_param *param, size_t first, size_t count,
                 float *values, struct error *err)
{
    const struct safetensors *st = adapter;

    return safetensors_load(st, find(st, param->name), first, count, values, err);
}

/* ---- export ---- */

int adapter_export(const char *dir, const char *from, const struct lora *lora, int rank,
                   const struct weights *weights, uint64_t base, struct error *err)
{
    const struct model     *model = weights->model;
    int                    *number = xcalloc((size_t)model->param_count, sizeof *number);
    struct safetensors_out *out = NULL;
    char                   *text;
    int                     rc = 0;

    if (rank == 0 && (out = create(dir, model, number, base, err)) == NULL)
        rc = -1;
    if (rc == 0)
        rc = weights_gather(out, number, weights, err);
    free(number);
    if (rc == 0 && out != NULL) {
        text = adapter_config_text(lora, model, from);
        rc = weights_write_file(dir, "adapter_config.json", text, strlen(text), err);
        free(text);
    }
    if (rc == 0)
        return out != NULL ? safetensors_commit(out, err) : 0;
    safetensors_discard(out);
    return -1;
}

/* Sets number to that of each parameter's tensor, or to -1 if it is frozen. */
static struct safetensors_out *create(const char *dir, const struct model *model, int *number,
                                      uint64_t base, struct error *err)
{
    struct safetensors_shape *shapes = xcalloc((size_t)model->param_count, sizeof *shapes);
    struct safetensors_how    how = { .stem = STEM, .type = model->type, .file_max = UINT64_MAX };
    struct safetensors_out   *out;
    char                      note[SAFETENSORS_NOTE_MAX];
    int                       count = 0, i;

    for (i = 0; i < model->param_count; i++) {
        const struct model_param *p = &model->param[i];

        number[i] = p->is_frozen ? -1 : count;
        if (!p->is_frozen)
            shapes[count++] = (struct safetensors_shape){
                .name = xasprintf(PREFIX "%s", p->name), .dims = p->dims,
                .shape = { p->shape[0], p->shape[1] } };
    }
    snprintf(note, sizeof note, "%016" PRIx64, base);
    how.note = note;
    out = safetensors_create_as(dir, &how, shapes, (size_t)count, err);
    for (i = 0; i < count; i++)
        free((char *)shapes[i].name);
    free(shapes);
    return out;
}
