/* safetensors.c - reading, see safetensors.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "file.h"
#include "model/safetensors_type.h"
#include "xalloc.h"

#define INDEX_MAX (64 << 20) /* bytes */

static int  open_all(struct safetensors *st, const char *path, struct error *err);
static int  open_index(struct safetensors *st, const char *directory, const char *index,
                       struct error *err);
static bool has_file(const struct safetensors *st, const char *path);
static int  open_file(struct safetensors *st, const char *path, struct error *err);
static json_t *read_header(int fd, uint64_t *begin, uint64_t *size, struct error *err);
static int  take_header(struct safetensors *st, const json_t *header, uint64_t begin,
                        uint64_t size, struct error *err);
static void take_note(struct safetensors *st, const json_t *metadata);
static int  take_tensor(struct safetensor *tensor, const char *name, const json_t *value,
                        uint64_t size, struct error *err);
static int  take_shape(struct safetensor *tensor, const json_t *shape, struct error *err);
static int  check_places(const struct safetensors *st, size_t first, uint64_t begin,
                         uint64_t size, struct error *err);
static int  check_names(const struct safetensors *st, struct error *err);
static int  by_name(const void *a, const void *b);
static int  by_place(const void *a, const void *b);

struct safetensors *safetensors_open(const char *path, struct error *err)
{
    struct safetensors *st = xcalloc(1, sizeof *st);

    if (open_all(st, path, err) < 0) {
        safetensors_close(st);
        return NULL;
    }
    return st;
}

void safetensors_close(struct safetensors *st)
{
    size_t i;
    int    f;

    if (st == NULL)
        return;
    for (i = 0; i < st->tensors; i++)
        free(st->tensor[i].name);
    for (f = 0; f < st->files; f++) {
        if (st->file[f].fd >= 0)
            close(st->file[f].fd);
        free(st->file[f].path);
    }
    free(st->tensor);
    free(st->file);
    free(st);
}

static int open_all(struct safetensors *st, const char *path, struct error *err)
{
    struct stat is;
    char        inside[PATH_MAX];
    int         rc;

    if (stat(path, &is) < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(is.st_mode)) {
        rc = open_file(st, path, err);
    } else {
        snprintf(inside, sizeof inside, "%s/model.safetensors.index.json", path);
        if (access(inside, F_OK) == 0) {
            rc = open_index(st, path, inside, err);
        } else {
            snprintf(inside, sizeof inside, "%s/model.safetensors", path);
            rc = open_file(st, inside, err);
        }
    }
    if (rc < 0)
        return -1;
    if (st->tensors > 0)
        qsort(st->tensor, st->tensors, sizeof *st->tensor, by_name);
    return check_names(st, err);
}

/* Opens every file that the index names. Ignores which file the index gives for each tensor,
 * because the files' own headers say that. */
static int open_index(struct safetensors *st, const char *directory, const char *index,
                      struct error *err)
{
    size_t       size;
    char        *text = file_read(index, INDEX_MAX, &size, err), path[PATH_MAX];
    json_t      *root, *file;
    const char  *name;
    json_error_t why;
    int          rc = 0;

    if (text == NULL)
        return -1;
    root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    free(text);
    if (root == NULL)
        return err_set(err, "%s:%d: %s", index, why.line, why.text);
    if (!json_is_object(json_object_get(root, "weight_map")))
        rc = err_set(err, "%s: no weight_map", index);
    json_object_foreach(json_object_get(root, "weight_map"), name, file) {
        const char *base = json_string_value(file);

        if (base == NULL || strchr(base, '/') != NULL || strlen(base) > NAME_MAX) {
            rc = err_set(err, "%s: %.128s: not the name of a file in the same directory", index,
                         name);
            break;
        }
        snprintf(path, sizeof path, "%s/%s", directory, base);
        if (!has_file(st, path) && (rc = open_file(st, path, err)) < 0)
            break;
    }
    json_decref(root);
    return rc;
}

static bool has_file(const struct safetensors *st, const char *path)
{
    int i;

    for (i = 0; i < st->files; i++)
        if (strcmp(st->file[i].path, path) == 0)
            return true;
    return false;
}

static int open_file(struct safetensors *st, const char *path, struct error *err)
{
    struct safetensors_file *file;
    struct error             why;
    uint64_t                 begin, size;
    json_t                  *header;
    int                      rc;

    if (st->files == SAFETENSORS_FILES)
        return err_set(err, "%s: more than %d files", path, SAFETENSORS_FILES);
    st->file = xreallocarray(st->file, (size_t)st->files + 1, sizeof *st->file);
    file = &st->file[st->files++];
    file->path = xstrdup(path);
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not block on a pipe */
    if (file->fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    header = read_header(file->fd, &begin, &size, &why);
    if (header == NULL)
        return err_set(err, "%s: %s", path, why.text);
    rc = take_header(st, header, begin, size, &why);
    json_decref(header);
    return rc < 0 ? err_set(err, "%s: %s", path, why.text) : 0;
}

/* Reads the header. The tensors are the size bytes from begin on. NULL with err. */
static json_t *read_header(int fd, uint64_t *begin, uint64_t *size, struct error *err)
{
    unsigned char length[8];
    struct stat   is;
    uint64_t      bytes = 0;
    json_error_t  why;
    json_t       *header;
    char         *text;
    int           i;

    if (fstat(fd, &is) < 0 || !S_ISREG(is.st_mode) || is.st_size < 8) {
        err_set(err, "not a safetensors file");
        return NULL;
    }
    if (file_pread(fd, length, 8, 0, err) < 0)
        return NULL;
    for (i = 7; i >= 0; i--)
        bytes = bytes << 8 | length[i];
    if (bytes > SAFETENSORS_HEADER_MAX || bytes > (uint64_t)is.st_size - 8) {
        err_set(err,
                "not a safetensors file, or truncated: its header would have %" PRIu64 " bytes",
                bytes);
        return NULL;
    }
    text = xmalloc(bytes + 1);
    header = NULL;
    if (file_pread(fd, text, bytes, 8, err) == 0) {
        header = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
        if (header == NULL)
            err_set(err, "header: %s", why.text);
    }
    free(text);
    *begin = 8 + bytes;
    *size = (uint64_t)is.st_size - *begin;
    return header;
}

static int take_header(struct safetensors *st, const json_t *header, uint64_t begin,
                       uint64_t size, struct error *err)
{
    const size_t first = st->tensors, more = json_object_size(header);
    const char  *name;
    json_t      *value;
    struct error why;

    if (!json_is_object(header))
        return err_set(err, "the header is not a JSON object");
    if (more > SAFETENSORS_TENSORS - st->tensors)
        return err_set(err, "more than %d tensors", SAFETENSORS_TENSORS);
    st->tensor = xreallocarray(st->tensor, st->tensors + more + 1, sizeof *st->tensor);
    json_object_foreach((json_t *)header, name, value) {
        struct safetensor *tensor = &st->tensor[st->tensors];

        if (strcmp(name, "__metadata__") == 0) {
            take_note(st, value);
            continue;
        }
        *tensor = (struct safetensor){ .file = st->files - 1 };
        if (take_tensor(tensor, name, value, size, &why) < 0)
            return err_set(err, "%.128s: %s", name, why.text);
        tensor->begin += begin;
        tensor->name = xstrdup(name);
        st->tensors++;
    }
    return check_places(st, first, begin, size, err);
}

static void take_note(struct safetensors *st, const json_t *metadata)
{
    const char *note = json_string_value(json_object_get(metadata, SAFETENSORS_NOTE));

    snprintf(st->note, sizeof st->note, "%s", note != NULL ? note : "");
}

static int take_tensor(struct safetensor *tensor, const char *name, const json_t *value,
                       uint64_t size, struct error *err)
{
    const char   *type = json_string_value(json_object_get(value, "dtype"));
    const json_t *offsets = json_object_get(value, "data_offsets");
    json_int_t    begin = json_integer_value(json_array_get(offsets, 0));
    json_int_t    end = json_integer_value(json_array_get(offsets, 1));
    uint64_t      bytes;

    if (strlen(name) > SAFETENSORS_NAME_MAX)
        return err_set(err, "its name is longer than %d bytes", SAFETENSORS_NAME_MAX);
    tensor->type = safetensors_type_find(type);
    if (tensor->type < 0)
        return err_set(err, "unknown element type '%.16s'", type != NULL ? type : "");
    if (take_shape(tensor, json_object_get(value, "shape"), err) < 0)
        return -1;
    if (json_array_size(offsets) != 2 || begin < 0 || end < begin || (uint64_t)end > size)
        return err_set(err, "it is outside the file");
    if (__builtin_mul_overflow(tensor->count, safetensors_type_size(tensor->type), &bytes) ||
        bytes != (uint64_t)(end - begin))
        return err_set(err, "its shape does not match its %lld bytes",
                       (long long)(end - begin));
    tensor->begin = (uint64_t)begin;
    tensor->size = bytes;
    return 0;
}

static int take_shape(struct safetensor *tensor, const json_t *shape, struct error *err)
{
    size_t i;

    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_DIMS)
        return err_set(err, "its shape has more than %d dimensions, or is not a list",
                       SAFETENSORS_DIMS);
    tensor->dims = (int)json_array_size(shape);
    tensor->count = 1;
    for (i = 0; i < json_array_size(shape); i++) {
        const json_t *extent = json_array_get(shape, i);

        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return err_set(err, "its shape is not a list of non-negative integers");
        tensor->shape[i] = (uint64_t)json_integer_value(extent);
        if (__builtin_mul_overflow(tensor->count, tensor->shape[i], &tensor->count))
            return err_set(err, "its shape is too large");
    }
    return 0;
}

/* The format allows neither gaps nor overlaps, so that no file is ambiguous. */
static int check_places(const struct safetensors *st, size_t first, uint64_t begin,
                        uint64_t size, struct error *err)
{
    const size_t       count = st->tensors - first;
    struct safetensor *sorted;
    uint64_t           at = begin;
    size_t             i;

    if (count == 0)
        return size == 0 ? 0 : err_set(err, "some bytes belong to no tensor");
    sorted = xmemdup(st->tensor + first, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_place);
    for (i = 0; i < count && sorted[i].begin == at; i++)
        at += sorted[i].size;
    free(sorted);
    return i == count && at == begin + size
               ? 0
               : err_set(err, "its tensors overlap or leave a gap");
}

static int check_names(const struct safetensors *st, struct error *err)
{
    size_t i;

    for (i = 1; i < st->tensors; i++)
        if (strcmp(st->tensor[i - 1].name, st->tensor[i].name) == 0)
            return err_set(err, "%s: %s is also in another file",
                           st->file[st->tensor[i].file].path, st->tensor[i].name);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct safetensor *)a)->name, ((const struct safetensor *)b)->name);
}

/* At the same offset, empty tensors come first. */
static int by_place(const void *a, const void *b)
{
    const struct safetensor *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

const struct safetensor *safetensors_find(const struct safetensors *st, const char *name)
{
    const struct safetensor wanted = { .name = (char *)name };

    if (st->tensors == 0)
        return NULL;
    return bsearch(&wanted, st->tensor, st->tensors, sizeof wanted, by_name);
}

int safetensors_load(const struct safetensors *st, const struct safetensor *tensor,
                     uint64_t first, size_t count, float *values, struct error *err)
{
    const size_t size = safetensors_type_size(tensor->type);
    const char  *path = st->file[tensor->file].path;
    char         bytes[65536];
    struct error why;
    size_t       n;

    if (!safetensors_type_is_number(tensor->type))
        return err_set(err, "%s: %s: element type %s is not supported", path, tensor->name,
                       safetensors_type_name(tensor->type));
    if (first > tensor->count || count > tensor->count - first)
        return err_set(err, "%s: %s has only %" PRIu64 " elements", path, tensor->name,
                       tensor->count);
    for (; count > 0; count -= n, first += n, values += n) {
        n = count < sizeof bytes / size ? count : sizeof bytes / size;
        if (file_pread(st->file[tensor->file].fd, bytes, n * size, tensor->begin + first * size,
                       &why) < 0)
            return err_set(err, "%s: %s: %s", path, tensor->name, why.text);
        safetensors_type_to_float(tensor->type, bytes, n, values);
    }
    return 0;
}
