/* weights.c - see weights.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "train/weights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "model/model_weights.h"
#include "xalloc.h"

#define FILE_MAX (UINT64_C(5) << 30) /* bytes; Hugging Face's own default */
#define COPY_MAX ((size_t)256 << 20) /* bytes of a tokenizer's file */
#define PART_MAX ((size_t)1 << 20)   /* elements */

/* What transformers needs beside the weights. */
static const char *const beside[] = {
    "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "vocab.txt",
    "merges.txt", "special_tokens_map.json", "added_tokens.json", "generation_config.json",
    "chat_template.jinja",
};

static int export_layers(struct safetensors_out *out, const struct model *model,
                         struct zero *zero, struct error *err);
static int store_layer(struct safetensors_out *out, const struct model *model, int layer,
                       struct zero *zero, const void *params, struct error *err);
static int write_rest(const char *dir, const char *from, const struct model *model,
                      struct error *err);
static int write_config(const char *dir, const char *from, const struct model *model,
                        struct error *err);
static int copy(const char *dir, const char *from, const char *name, struct error *err);
static int write_file(const char *dir, const char *name, const char *bytes, size_t size,
                      struct error *err);

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

int weights_export(const char *dir, const char *from, const struct world *world,
                   const struct model *model, struct zero *zero, struct error *err)
{
    struct safetensors_out *out = NULL;
    struct error            why;
    int                     rc;

    if (world->rank == 0) {
        out = model_weights_create(model, dir, model->type, FILE_MAX, err);
        if (out == NULL)
            return -1;
    }
    if (export_layers(out, model, zero, err) < 0) {
        safetensors_discard(out);
        return -1;
    }
    if (out == NULL)
        return 0;
    rc = write_rest(dir, from, model, &why);
    if (safetensors_commit(out, err) < 0)
        return -1;
    return rc < 0 ? err_set(err, "%s (the weights in %s are complete)", why.text, dir) : 0;
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

/* Part by part, because the embeddings of a large vocabulary take gigabytes as floats. */
static int store_layer(struct safetensors_out *out, const struct model *model, int layer,
                       struct zero *zero, const void *params, struct error *err)
{
    const struct model_layer *at = &model->layer[layer];
    const size_t              size = dtype_size(model->type);
    const size_t              most = at->count < PART_MAX ? at->count : PART_MAX;
    float                    *values = xreallocarray(NULL, most, sizeof *values);
    uint16_t                 *narrow = xreallocarray(NULL, most, sizeof *narrow);
    const bool                is_float = model->type == DTYPE_FLOAT;
    int                       rc = 0;
    size_t                    done, n, i;

    for (done = 0; done < at->count && rc == 0; done += n) {
        n = at->count - done < most ? at->count - done : most;
        rc = zero_read(zero, is_float ? (void *)values : narrow,
                       (const char *)params + done * size, n * size, err);
        for (i = 0; i < n && rc == 0 && !is_float; i++)
            values[i] = model->type == DTYPE_HALF ? half_to_float(narrow[i])
                                                  : bfloat16_to_float(narrow[i]);
        if (rc == 0)
            rc = model_weights_store(model, out, at->offset + done, n, values, err);
    }
    free(narrow);
    free(values);
    return rc;
}

static int write_rest(const char *dir, const char *from, const struct model *model,
                      struct error *err)
{
    struct stat  there, here;
    struct error why;
    int          rc = write_config(dir, from, model, err);

    if (from == NULL || (stat(from, &there) == 0 && stat(dir, &here) == 0 &&
                         here.st_dev == there.st_dev && here.st_ino == there.st_ino))
        return rc;
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
        if (copy(dir, from, beside[i], &why) < 0 && rc == 0)
            rc = err_set(err, "%s", why.text);
    return rc;
}

/* If the config.json there cannot be read any more, the shape is written as if it had a name. */
static int write_config(const char *dir, const char *from, const struct model *model,
                        struct error *err)
{
    char  *path = xasprintf("%s/config.json", from != NULL ? from : "");
    size_t size = 0;
    char  *base = from != NULL ? file_read_at_once(path, MODEL_CONFIG_MAX, &size, err) : NULL;
    char  *text = NULL;
    int    rc = 0;

    if (from == NULL || base != NULL)
        text = model_config_export(&model->config, model->type, base, size, err);
    if (text == NULL) {
        rc = -1;
        text = model_config_export(&model->config, model->type, NULL, 0, NULL);
    }
    if (write_file(dir, "config.json", text, strlen(text), rc == 0 ? err : NULL) < 0)
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
        rc = bytes != NULL ? write_file(dir, name, bytes, size, err) : -1;
        free(bytes);
    }
    free(path);
    return rc;
}

static int write_file(const char *dir, const char *name, const char *bytes, size_t size,
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
