/* safetensors.h - Hugging Face's file format for weights
 *
 * Eight bytes with the size of a header, the header as JSON, and the tensors one behind the
 * other. A model is one file, or several with an index that says which tensor is where.
 *
 *     safetensors_open -> safetensors_find -> safetensors_load -> safetensors_close
 *     safetensors_create -> safetensors_store -> safetensors_commit
 *
 * Nothing of a file is believed: sizes, places and shapes are compared before anything is read.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAFETENSORS_H
#define MUSTER_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"
#include "err.h"

#define SAFETENSORS_DIMS       8
#define SAFETENSORS_HEADER_MAX 100000000 /* bytes; the format's own bound */
#define SAFETENSORS_TENSORS    1000000
#define SAFETENSORS_FILES      4096
#define SAFETENSORS_NAME_MAX   256

struct safetensor {
    char    *name;
    int      type; /* as in the header: see safetensors.c */
    int      dims;
    uint64_t shape[SAFETENSORS_DIMS];
    uint64_t count;       /* elements */
    int      file;
    uint64_t begin, size; /* bytes, in the file */
};

struct safetensors {
    struct safetensor *tensor; /* sorted by name */
    size_t             tensors;
    struct safetensors_file {
        char *path;
        int   fd;
    } *file;
    int files;
};

/* A file, or a directory with model.safetensors or model.safetensors.index.json. NULL with
 * "PATH: what is wrong". */
struct safetensors *safetensors_open(const char *path, struct error *err);
void                safetensors_close(struct safetensors *st); /* NULL is fine */

/* NULL: there is none of that name. */
const struct safetensor *safetensors_find(const struct safetensors *st, const char *name);

/* count elements from first on, as floats. Of F64, F32, F16, BF16, I32 and I64. */
int safetensors_load(const struct safetensors *st, const struct safetensor *tensor,
                     uint64_t first, size_t count, float *values, struct error *err);

/* A tensor to be written. */
struct safetensors_shape {
    const char *name;
    int         dims;
    uint64_t    shape[SAFETENSORS_DIMS];
};

struct safetensors_out;

/* Begin a model in the directory, which is made when it is not there: all tensors with the
 * element type DTYPE_FLOAT, DTYPE_HALF or DTYPE_BFLOAT16, in files of at most file_max bytes of
 * tensors each (a tensor that is larger has one of its own). Files have their names only once
 * they are complete. NULL with err. */
struct safetensors_out *safetensors_create(const char *directory,
                                           const struct safetensors_shape *shapes, size_t count,
                                           enum dtype type, uint64_t file_max,
                                           struct error *err);

/* Elements of tensor number i from first on; in any order. */
int safetensors_store(struct safetensors_out *out, size_t i, uint64_t first, size_t count,
                      const float *values, struct error *err);

/* All is on the disk, under its name, when it returns. Frees out, also after a failure. */
int safetensors_commit(struct safetensors_out *out, struct error *err);
/* Removes what was written. NULL is fine. */
void safetensors_discard(struct safetensors_out *out);

#endif
