/* safetensors_write.c - writing, see safetensors.h
 *
 * A file gets its size and its header first, so tensors can be stored in any order. All files
 * get their names at the end, the index last, so a directory with an index has a complete
 * model.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "file.h"
#include "model/safetensors.h"
#include "model/safetensors_type.h"
#include "xalloc.h"

#define PARTIAL ".partial"

struct out_tensor {
    int      file;
    uint64_t begin, count; /* begin: bytes from the file's first tensor; count: elements */
};

struct out_file {
    int      fd; /* -1: not open */
    uint64_t begin, size; /* of the tensors */
    json_t  *header;
};

struct safetensors_out {
    char              *directory, *stem, *note; /* note NULL: none */
    int                type; /* see safetensors_type.h */
    struct out_tensor *tensor;
    size_t             tensors;
    struct out_file   *file;
    int                files;
    json_t            *map; /* tensor to file, if there are several files */
};

static int  plan(struct safetensors_out *out, const struct safetensors_shape *shapes,
                 uint64_t file_max, struct error *err);
static int  place(struct safetensors_out *out, const struct safetensors_shape *shape, size_t i,
                  uint64_t file_max, struct error *err);
static void describe(struct out_file *file, const struct safetensors_shape *shape, int type,
                     uint64_t begin, uint64_t end);
static int  begin_file(struct safetensors_out *out, int i, struct error *err);
static int  end_file(struct safetensors_out *out, int i, struct error *err);
static int  write_index(struct safetensors_out *out, struct error *err);
static int  write_text(const char *path, const char *text, struct error *err);
static int  sync_directory(const char *path, struct error *err);
static void file_name(const struct safetensors_out *out, int i, char name[NAME_MAX]);
static void file_path(const struct safetensors_out *out, int i, const char *suffix,
                      char path[PATH_MAX]);
static void free_out(struct safetensors_out *out);

struct safetensors_out *safetensors_create(const char *directory,
                                           const struct safetensors_shape *shapes, size_t count,
                                           enum dtype type, uint64_t file_max, struct error *err)
{
    const struct safetensors_how how = { .stem = "model", .type = type, .file_max = file_max };

    return safetensors_create_as(directory, &how, shapes, count, err);
}

struct safetensors_out *safetensors_create_as(const char *directory,
                                              const struct safetensors_how *how,
                                              const struct safetensors_shape *shapes,
                                              size_t count, struct error *err)
{
    struct safetensors_out *out = xcalloc(1, sizeof *out);
    int                     i, rc;

    out->directory = xstrdup(directory);
    out->stem = xstrdup(how->stem);
    out->note = how->note != NULL ? xstrdup(how->note) : NULL;
    out->type = safetensors_type_of(how->type);
    out->tensors = count;
    out->tensor = xcalloc(count, sizeof *out->tensor);
    out->map = json_object();
    rc = plan(out, shapes, how->file_max, err);
    if (rc == 0 && mkdir(directory, 0777) < 0 && errno != EEXIST)
        rc = err_set(err, "%s: %s", directory, strerror(errno));
    for (i = 0; i < out->files && rc == 0; i++)
        rc = begin_file(out, i, err);
    if (rc == 0)
        return out;
    safetensors_discard(out);
    return NULL;
}

static int plan(struct safetensors_out *out, const struct safetensors_shape *shapes,
                uint64_t file_max, struct error *err)
{
    char   name[NAME_MAX];
    size_t i;

    for (i = 0; i < out->tensors; i++)
        if (place(out, &shapes[i], i, file_max, err) < 0)
            return -1;
    for (i = 0; i < out->tensors; i++) {
        file_name(out, out->tensor[i].file, name);
        json_object_set_new(out->map, shapes[i].name, json_string(name));
    }
    return 0;
}

/* Puts the tensor into the last file, or into a new one if the last is full. */
static int place(struct safetensors_out *out, const struct safetensors_shape *shape, size_t i,
                 uint64_t file_max, struct error *err)
{
    struct out_tensor *tensor = &out->tensor[i];
    struct out_file   *file = out->files > 0 ? &out->file[out->files - 1] : NULL;
    uint64_t           bytes;
    int                j;

    tensor->count = 1;
    for (j = 0; j < shape->dims; j++)
        if (__builtin_mul_overflow(tensor->count, shape->shape[j], &tensor->count))
            return err_set(err, "%s: its shape is too large", shape->name);
    bytes = tensor->count * safetensors_type_size(out->type);
    if (file == NULL ||
        (file->size > 0 && (bytes > file_max || file->size > file_max - bytes))) {
        if (out->files == SAFETENSORS_FILES)
            return err_set(err, "%s: more than %d files", out->directory, SAFETENSORS_FILES);
        out->file = xreallocarray(out->file, (size_t)out->files + 1, sizeof *out->file);
        file = &out->file[out->files++];
        *file = (struct out_file){ .fd = -1, .header = json_object() };
        json_object_set_new(file->header, "__metadata__",
                            json_pack("{s:s, s:s*}", "format", "pt", SAFETENSORS_NOTE,
                                      out->note));
    }
    tensor->file = out->files - 1;
    tensor->begin = file->size;
    file->size += bytes;
    describe(file, shape, out->type, tensor->begin, file->size);
    return 0;
}

static void describe(struct out_file *file, const struct safetensors_shape *shape, int type,
                     uint64_t begin, uint64_t end)
{
    json_t *extents = json_array();
    int     i;

    for (i = 0; i < shape->dims; i++)
        json_array_append_new(extents, json_integer((json_int_t)shape->shape[i]));
    json_object_set_new(file->header, shape->name,
                        json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_type_name(type),
                                  "shape", extents, "data_offsets", (json_int_t)begin,
                                  (json_int_t)end));
}

/* The header is padded with blanks, so that the tensors begin at a multiple of 8. */
static int begin_file(struct safetensors_out *out, int i, struct error *err)
{
    struct out_file *file = &out->file[i];
    char            *text = json_dumps(file->header, JSON_COMPACT), path[PATH_MAX];
    const size_t     length = strlen(text), padded = (length + 7) / 8 * 8;
    char            *bytes = xmalloc(8 + padded);
    struct error     why;
    int              rc = 0, j;

    for (j = 0; j < 8; j++)
        bytes[j] = (char)(padded >> 8 * j);
    memset(bytes + 8, ' ', padded);
    memcpy(bytes + 8, text, length);
    file->begin = 8 + padded;
    file_path(out, i, PARTIAL, path);
    file->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd < 0 || ftruncate(file->fd, (off_t)(file->begin + file->size)) < 0)
        rc = err_set(err, "%s: %s", path, strerror(errno));
    else if (file_pwrite(file->fd, bytes, file->begin, 0, &why) < 0)
        rc = err_set(err, "%s: %s", path, why.text);
    free(text);
    free(bytes);
    return rc;
}

int safetensors_store(struct safetensors_out *out, size_t i, uint64_t first, size_t count,
                      const float *values, struct error *err)
{
    const struct out_tensor *tensor = &out->tensor[i];
    const struct out_file   *file = &out->file[tensor->file];
    const size_t             size = safetensors_type_size(out->type);
    char                     bytes[65536], path[PATH_MAX];
    struct error             why;
    size_t                   n;

    if (first > tensor->count || count > tensor->count - first)
        return err_set(err, "tensor %zu has only %" PRIu64 " elements", i, tensor->count);
    for (; count > 0; count -= n, first += n, values += n) {
        n = count < sizeof bytes / size ? count : sizeof bytes / size;
        safetensors_type_from_float(out->type, values, n, bytes);
        if (file_pwrite(file->fd, bytes, n * size, file->begin + tensor->begin + first * size,
                        &why) < 0) {
            file_path(out, tensor->file, PARTIAL, path);
            return err_set(err, "%s: %s", path, why.text);
        }
    }
    return 0;
}

int safetensors_commit(struct safetensors_out *out, struct error *err)
{
    char index[PATH_MAX];
    int  i, rc = 0;

    /* Remove an old index, which would refer to the new files. */
    snprintf(index, sizeof index, "%s/%s.safetensors.index.json", out->directory, out->stem);
    if (unlink(index) < 0 && errno != ENOENT)
        rc = err_set(err, "%s: %s", index, strerror(errno));
    for (i = 0; i < out->files && rc == 0; i++)
        rc = end_file(out, i, err);
    if (rc == 0 && out->files > 1)
        rc = write_index(out, err);
    if (rc == 0)
        rc = sync_directory(out->directory, err);
    if (rc == 0)
        free_out(out);
    else
        safetensors_discard(out);
    return rc;
}

static int end_file(struct safetensors_out *out, int i, struct error *err)
{
    struct out_file *file = &out->file[i];
    char             from[PATH_MAX], to[PATH_MAX];

    file_path(out, i, PARTIAL, from);
    file_path(out, i, "", to);
    if (fsync(file->fd) < 0 || rename(from, to) < 0)
        return err_set(err, "%s: %s", from, strerror(errno));
    close(file->fd);
    file->fd = -1;
    return 0;
}

static int write_index(struct safetensors_out *out, struct error *err)
{
    char     from[PATH_MAX], to[PATH_MAX], *text;
    uint64_t total = 0;
    json_t  *root;
    int      i, rc;

    for (i = 0; i < out->files; i++)
        total += out->file[i].size;
    root = json_pack("{s:{s:I}, s:O}", "metadata", "total_size", (json_int_t)total, "weight_map",
                     out->map);
    text = json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    snprintf(to, sizeof to, "%s/%s.safetensors.index.json", out->directory, out->stem);
    snprintf(from, sizeof from, "%s/%s.safetensors.index.json%s", out->directory, out->stem,
             PARTIAL);
    rc = write_text(from, text, err);
    if (rc == 0 && rename(from, to) < 0)
        rc = err_set(err, "%s: %s", from, strerror(errno));
    free(text);
    return rc;
}

static int write_text(const char *path, const char *text, struct error *err)
{
    const int    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    struct error why;
    int          rc = 0;

    if (fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (file_pwrite(fd, text, strlen(text), 0, &why) < 0)
        rc = err_set(err, "%s: %s", path, why.text);
    else if (fsync(fd) < 0)
        rc = err_set(err, "%s: %s", path, strerror(errno));
    close(fd);
    return rc;
}

static int sync_directory(const char *path, struct error *err)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int       rc = 0;

    if (fd < 0 || fsync(fd) < 0)
        rc = err_set(err, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}

void safetensors_discard(struct safetensors_out *out)
{
    char path[PATH_MAX];
    int  i;

    if (out == NULL)
        return;
    for (i = 0; i < out->files; i++) {
        if (out->file[i].fd < 0)
            continue;
        file_path(out, i, PARTIAL, path);
        unlink(path);
    }
    free_out(out);
}

static void file_path(const struct safetensors_out *out, int i, const char *suffix,
                      char path[PATH_MAX])
{
    char name[NAME_MAX];

    file_name(out, i, name);
    snprintf(path, PATH_MAX, "%s/%s%s", out->directory, name, suffix);
}

static void file_name(const struct safetensors_out *out, int i, char name[NAME_MAX])
{
    if (out->files == 1)
        snprintf(name, NAME_MAX, "%s.safetensors", out->stem);
    else
        snprintf(name, NAME_MAX, "%s-%05d-of-%05d.safetensors", out->stem, i + 1, out->files);
}

static void free_out(struct safetensors_out *out)
{
    int i;

    for (i = 0; i < out->files; i++) {
        if (out->file[i].fd >= 0)
            close(out->file[i].fd);
        json_decref(out->file[i].header);
    }
    json_decref(out->map);
    free(out->directory);
    free(out->stem);
    free(out->note);
    free(out->tensor);
    free(out->file);
    free(out);
}
