/* warm_read.h - reads parts of files with many threads, so that a slow
 * disk has many reads at once
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_WARM_READ_H
#define MUSTER_AGENT_WARM_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WARM_PART_BYTES (4 << 20) /* the largest part */
#define WARM_STREAMS_MAX 256

struct warm_part {
    int64_t     offset, length;
    const char *path;        /* borrowed */
    int64_t     file, chunk; /* used by the caller; -1: none */
};

struct warm_parts {
    struct warm_part *part;
    size_t            count;
    int64_t           bytes;
};

/* Callbacks, which the threads call. */
struct warm_read_ops {
    /* Open: returns a descriptor for reading, or -1. Close: the descriptor
     * is not needed any more. */
    int (*open)(const struct warm_part *part, void *arg);
    void (*close)(const struct warm_part *part, int fd, void *arg);
    void (*read)(const struct warm_part *part, bool is_whole, void *arg); /* after each part */
};

struct warm_reading;

/* Adds a range, split into parts. */
void warm_parts_add(struct warm_parts *parts, const struct warm_part *part);
void warm_parts_clear(struct warm_parts *parts);

/* Begins to read, in order; parts must not change until warm_read_free(). ops
 * NULL: open(2) and close(2). */
struct warm_reading *warm_read_begin(const struct warm_parts *parts, int streams,
                                     const struct warm_read_ops *ops, void *arg);
bool                 warm_read_is_over(const struct warm_reading *reading);
int64_t              warm_read_bytes(const struct warm_reading *reading);  /* so far */
int                  warm_read_failed(const struct warm_reading *reading); /* parts */
void warm_read_free(struct warm_reading *reading); /* waits for the threads; NULL is fine */

#endif
