/* safetensors.h - Hugging Face's file format for weights
 *
 * A file has eight bytes with the size of the header, the header as JSON, and the tensors one
 * after another. A model is one file, or several files and an index that maps tensors to files.
 *
 *     safetensors_open -> safetensors_find -> safetensors_load -> safetensors_close
 *     safetensors_create -> safetensors_store -> safetensors_commit
 *
 * A file is not trusted: sizes, offsets and shapes are checked before any tensor is read.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAFETENSORS_H
#define MUSTER_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "comm/dtype.h"
#include "err.h"

#define SAFETENSORS_DIMS       8
#define SAFETENSORS_HEADER_MAX 100000000 /* bytes; the format's own limit */
#define SAFETENSORS_TENSORS    1000000
#define SAFETENSORS_FILES      4096
#define SAFETENSORS_NAME_MAX   256

struct safetensor {
    char    *name;
    int      type; /* see safetensors_type.h */
    int      dims;
    uint64_t shape[SAFETENSORS_DIMS];
    uint64_t count;       /* elements */
    int      file;
    uint64_t begin, size; /* bytes, in the file */
};

#define SAFETENSORS_NOTE_MAX 32 /* with the final zero */

struct safetensors {
    struct safetensor *tensor; /* sorted by name */
    size_t             tensors;
    struct safetensors_file {
        char *path;
        int   fd;
    } *file;
    int  files;
    char note[SAFETENSORS_NOTE_MAX]; /* of the last file; empty: it has none */
};

/* Opens a file, or a directory with model.safetensors or model.safetensors.index.json. NULL
 * with "PATH: reason" in err. */
struct safetensors *safetensors_open(const char *path, struct error *err);
void                safetensors_close(struct safetensors *st); /* NULL is fine */

/* Returns NULL for an unknown name. */
const struct safetensor *safetensors_find(const struct safetensors *st, const char *name);

/* Loads count elements from first on as floats, from F64, F32, F16, BF16, I32 or I64. */
int safetensors_load(const struct safetensors *st, const struct safetensor *tensor,
                     uint64_t first, size_t count, float *values, struct error *err);

/* The shape of a tensor to write. */
struct safetensors_shape {
    const char *name;
    int         dims;
    uint64_t    shape[SAFETENSORS_DIMS];
};

struct safetensors_out;

struct safetensors_how {
    const char *stem;     /* of the files' names: "model" */
    const char *note;     /* for another program of ours, in the metadata; NULL: none */
    enum dtype  type;     /* DTYPE_FLOAT, DTYPE_HALF or DTYPE_BFLOAT16 */
    uint64_t    file_max; /* bytes of tensors in each file; a larger tensor has one of its own */
};

/* Begins files in the directory, which is created if it is missing. They get their
 * names only when they are complete. NULL with err. */
struct safetensors_out *safetensors_create_as(const char *directory,
                                              const struct safetensors_how *how,
                                              const struct safetensors_shape *shapes,
                                              size_t count, struct error *err);

/* The same for a model. */
struct safetensors_out *safetensors_create(const char *directory,
                                           const struct safetensors_shape *shapes, size_t count,
                                           enum dtype type, uint64_t file_max,
                                           struct error *err);

/* Stores count elements of tensor number i from first on. Calls may come in any order. */
int safetensors_store(struct safetensors_out *out, size_t i, uint64_t first, size_t count,
                      const float *values, struct error *err);

/* Syncs all files to the disk and gives them their names. Frees out, also after a failure. */
int safetensors_commit(struct safetensors_out *out, struct error *err);
/* Removes the unfinished files. NULL is fine. */
void safetensors_discard(struct safetensors_out *out);

#endif
