/* weights.c - see weights.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "weights/weights.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "fnv.h"
#include "model/model_fill.h"
#include "model/model_weights.h"
#include "xalloc.h"

#define COPY_MAX  ((size_t)256 << 20) /* bytes of a tokenizer's file */
#define PART_MAX  ((size_t)1 << 20)   /* elements */
#define PRINT_MAX 256                 /* elements of each tensor that a print has */

/* What transformers needs beside the weights. */
static const char *const beside[] = {
    "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "vocab.txt",
    "merges.txt", "special_tokens_map.json", "added_tokens.json", "generation_config.json",
    "chat_template.jinja",
};

/* Weights that are not loaded. *.bin alone may also be token shards. */
static const char *const foreign[] = {
    "*.safetensors", "*pytorch_model*.bin", "pytorch_model.bin.index.json", "*.pt", "*.pth",
    "*.ckpt", "*.gguf", "*.ggml", "tf_model*.h5", "flax_model*.msgpack", "*.onnx",
};

static char *find_foreign(const char *dir);
static int gather_layer(struct safetensors_out *out, const int *number,
                        const struct weights *weights, int layer, struct error *err);
static int store_layer(struct safetensors_out *out, const int *number,
                       const struct weights *weights, int layer, const void *const *memory,
                       struct error *err);
static int store_param(struct safetensors_out *out, int number, const struct weights *weights,
                       const struct model_param *param, const void *memory, struct error *err);
static size_t place_of_param(const struct model *model, const struct model_param *param);
static size_t place_of(const struct model *model, const struct model_param *param,
                       size_t element);
static int write_config(const char *dir, const char *from, const struct model_config *shape,
                        enum dtype type, struct error *err);
static int copy(const char *dir, const char *from, const char *name, struct error *err);

bool weights_are_in(const char *dir)
{
    char *one = xasprintf("%s/model.safetensors", dir);
    char *many = xasprintf("%s/model.safetensors.index.json", dir);
    bool  are = access(one, F_OK) == 0 || access(many, F_OK) == 0;

    free(one);
    free(many);
    return are;
}

int weights_check_format(const char *dir, struct error *err)
{
    char *name = weights_are_in(dir) ? NULL : find_foreign(dir);
    int   rc = 0;

    if (name == NULL)
        return 0;
    if (fnmatch("*.safetensors", name, 0) == 0)
        rc = err_set(err, "%s: there is %s, but neither model.safetensors nor "
                          "model.safetensors.index.json, which says where a tensor is: copy the "
                          "rest of the model, too", dir, name);
    else
        rc = err_set(err, "%s: the weights in %s are not in safetensors: load them in Python with "
                          "transformers' from_pretrained() and write them with "
                          "save_pretrained(), or move them away to train from random numbers",
                     dir, name);
    free(name);
    return rc;
}

/* Returns the first name in alphabetical order, so that each rank says the same; NULL: none. */
static char *find_foreign(const char *dir)
{
    DIR           *listing = opendir(dir);
    struct dirent *entry;
    char          *first = NULL;

    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
            if (fnmatch(foreign[i], entry->d_name, FNM_PERIOD) != 0 ||
                (first != NULL && strcmp(first, entry->d_name) <= 0))
                continue;
            free(first);
            first = xstrdup(entry->d_name);
        }
    }
    if (listing != NULL)
        closedir(listing);
    return first;
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

/* The weights of two models of one shape differ everywhere, so a few bytes of each tensor are
 * enough, and cheap for any size. */
int weights_print(const struct safetensors *st, uint64_t *print, struct error *err)
{
    float  values[PRINT_MAX];
    size_t i, n;
    int    rc = 0;

    *print = FNV_START;
    for (i = 0; i < st->tensors && rc == 0; i++) {
        const struct safetensor *t = &st->tensor[i];

        n = t->count < PRINT_MAX ? (size_t)t->count : PRINT_MAX;
        rc = safetensors_load(st, t, (t->count - n) / 2, n, values, err);
        *print = fnv_add(*print, t->name, strlen(t->name) + 1);
        *print = fnv_add(*print, &t->count, sizeof t->count);
        *print = fnv_add(*print, values, n * sizeof *values);
    }
    return rc;
}

bool weights_are_same(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int weights_prepare(const char *dir, struct error *err)
{
    struct stat status;

    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return err_set(err, "--export: %s: %s", dir, strerror(errno));
    if (stat(dir, &status) == 0 && !S_ISDIR(status.st_mode))
        return err_set(err, "--export: %s: not a directory", dir);
    if (access(dir, W_OK | X_OK) < 0)
        return err_set(err, "--export: %s: %s", dir, strerror(errno));
    return 0;
}

int weights_export(const char *dir, const char *from, int rank, const struct weights *weights,
                   struct error *err)
{
    const struct model     *model = weights->model;
    int                    *number = xcalloc((size_t)model->param_count, sizeof *number);
    struct safetensors_out *out = NULL;
    struct error            why;
    int                     rc = 0, i;

    for (i = 0; i < model->param_count; i++)
        number[i] = i;
    if (rank == 0 &&
        (out = model_weights_create(model, dir, model->type, WEIGHTS_FILE_MAX, err)) == NULL)
        rc = -1;
    if (rc == 0)
        rc = weights_gather(out, number, weights, err);
    free(number);
    if (rc < 0) {
        safetensors_discard(out);
        return -1;
    }
    if (out == NULL)
        return 0;
    rc = weights_write_rest(dir, from, &model->config, model->type, &why);
    if (safetensors_commit(out, err) < 0)
        return -1;
    return rc < 0 ? err_set(err, "%s (the weights in %s are complete)", why.text, dir) : 0;
}

int weights_gather(struct safetensors_out *out, const int *number, const struct weights *weights,
                   struct error *err)
{
    int layer, rc = 0;

    for (layer = 0; layer < weights->model->layers && rc == 0; layer++)
        rc = gather_layer(out, number, weights, layer, err);
    return rc;
}

static int gather_layer(struct safetensors_out *out, const int *number,
                        const struct weights *weights, int layer, struct error *err)
{
    void *memory[2] = { NULL, NULL };
    int   rc = 0;

    if (zero_enter(weights->trained, layer, false, &memory[0], NULL, err) < 0 ||
        (weights->frozen != NULL &&
         zero_enter(weights->frozen, layer, false, &memory[1], NULL, err) < 0))
        return -1;
    if (out != NULL)
        rc = store_layer(out, number, weights, layer, (const void *const *)memory, err);
    zero_leave(weights->trained, layer);
    if (weights->frozen != NULL)
        zero_leave(weights->frozen, layer);
    return rc;
}

/* memory: of the layer's part of the flat array, and of that of frozen parameters. */
static int store_layer(struct safetensors_out *out, const int *number,
                       const struct weights *weights, int layer, const void *const *memory,
                       struct error *err)
{
    const struct model_layer *at = &weights->model->layer[layer];
    int                       i, rc = 0;

    for (i = at->first_param; i < at->first_param + at->param_count && rc == 0; i++) {
        const struct model_param *param = &weights->model->param[i];

        if (number[i] >= 0)
            rc = store_param(out, number[i], weights, param, memory[param->is_frozen], err);
    }
    return rc;
}

/* Part by part, because the embeddings of a large vocabulary take gigabytes as floats. */
static int store_param(struct safetensors_out *out, int number, const struct weights *weights,
                       const struct model_param *param, const void *memory, struct error *err)
{
    const struct model *model = weights->model;
    struct zero        *zero = param->is_frozen ? weights->frozen : weights->trained;
    const size_t        most = param->count < PART_MAX ? param->count : PART_MAX;
    float              *values = xreallocarray(NULL, most, sizeof *values);
    char               *part = xmalloc(place_of(model, param, most));
    size_t              done, n, from;
    int                 rc = 0;

    memory = (const char *)memory + place_of_param(model, param);
    for (done = 0; done < param->count && rc == 0; done += n) {
        n = param->count - done < most ? param->count - done : most;
        from = place_of(model, param, done);
        rc = zero_read(zero, part, (const char *)memory + from,
                       place_of(model, param, done + n) - from, err);
        if (rc == 0 && param->is_frozen)
            model_frozen_values(model, param, part, n, values);
        else if (rc == 0)
            model_widen(model, part, n, values);
        if (rc == 0)
            rc = safetensors_store(out, (size_t)number, done, n, values, err);
    }
    free(part);
    free(values);
    return rc;
}

/* Returns where a parameter begins in its layer's part of its array, in bytes. */
static size_t place_of_param(const struct model *model, const struct model_param *param)
{
    const struct model_layer *layer = &model->layer[param->layer];

    return param->is_frozen ? param->offset - layer->frozen_offset
                            : (param->offset - layer->offset) * dtype_size(model->type);
}

/* Returns where the element begins in the parameter, in bytes. */
static size_t place_of(const struct model *model, const struct model_param *param, size_t element)
{
    return param->is_frozen ? model_frozen_part(model, param, element)
                            : element * dtype_size(model->type);
}

int weights_write_rest(const char *dir, const char *from, const struct model_config *shape,
                       enum dtype type, struct error *err)
{
    struct error why;
    int          rc = write_config(dir, from, shape, type, err);

    if (from == NULL || weights_are_same(from, dir))
        return rc;
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
        if (copy(dir, from, beside[i], &why) < 0 && rc == 0)
            rc = err_set(err, "%s", why.text);
    return rc;
}

/* If the config.json there cannot be read any more, the shape is written as if it had a name. */
static int write_config(const char *dir, const char *from, const struct model_config *shape,
                        enum dtype type, struct error *err)
{
    char  *path = xasprintf("%s/config.json", from != NULL ? from : "");
    size_t size = 0;
    char  *base = from != NULL ? file_read_at_once(path, MODEL_CONFIG_MAX, &size, err) : NULL;
    char  *text = NULL;
    int    rc = 0;

    if (from == NULL || base != NULL)
        text = model_config_export(shape, type, base, size, err);
    if (text == NULL) {
        rc = -1;
        text = model_config_export(shape, type, NULL, 0, NULL);
    }
    if (weights_write_file(dir, "config.json", text, strlen(text), rc == 0 ? err : NULL) < 0)
        rc = -1;
    free(text);
    free(base);
    free(path);
    return rc;
}

static int copy(const char *dir, const char *from, const char *name, struct error *err)
{
    char  *path = xasprintf("%s/%s", from, name);
    size_t size;
    char  *bytes;
    int    rc = 0;

    if (access(path, F_OK) == 0) {
        bytes = file_read_at_once(path, COPY_MAX, &size, err);
        rc = bytes != NULL ? weights_write_file(dir, name, bytes, size, err) : -1;
        free(bytes);
    }
    free(path);
    return rc;
}

int weights_write_file(const char *dir, const char *name, const char *bytes, size_t size,
                       struct error *err)
{
    char *path = xasprintf("%s/%s", dir, name), *partial = xasprintf("%s.partial", path);
    FILE *file = fopen(partial, "we");
    bool  is_written = file != NULL && fwrite(bytes, 1, size, file) == size &&
                       fflush(file) == 0 && fsync(fileno(file)) == 0;
    int   why = errno, rc = 0;

    if (file != NULL && fclose(file) != 0 && is_written) {
        is_written = false;
        why = errno;
    }
    if (is_written && rename(partial, path) < 0) {
        is_written = false;
        why = errno;
    }
    if (!is_written) {
        rc = err_set(err, "%s: %s", path, strerror(why));
        unlink(partial);
    }
    free(partial);
    free(path);
    return rc;
}
