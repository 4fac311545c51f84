/* bcast_sums.c - see bcast_sums.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/hole.h"
#include "xalloc.h"

static int hash_next(const struct trees *trees, struct tree_item *item, struct sum_file *file,
                     struct error *err);
static int open_item(const struct trees *trees, const struct tree_item *item,
                     struct sum_file *file, struct error *err);

const unsigned char *sum_of(const struct trees *trees, struct tree_item *item, uint32_t index,
                            struct sum_file *file)
{
    struct error err;

    if (item->sums == NULL)
        item->sums = xreallocarray(NULL, chunk_count(item->size), CHUNK_HASH_BYTES);
    while (item->summed <= index && item->fault == NULL)
        if (hash_next(trees, item, file, &err) < 0)
            item->fault = xstrdup(err.text);
    return item->fault != NULL ? NULL : item->sums + (size_t)index * CHUNK_HASH_BYTES;
}

static int hash_next(const struct trees *trees, struct tree_item *item, struct sum_file *file,
                     struct error *err)
{
    static unsigned char bytes[CHUNK_BYTES];
    size_t               size = chunk_size(item->size, item->summed);
    uint64_t             at = (uint64_t)item->summed * CHUNK_BYTES;
    unsigned char       *sum = item->sums + (size_t)item->summed * CHUNK_HASH_BYTES;

    if (open_item(trees, item, file, err) < 0)
        return -1;
    if (size == CHUNK_BYTES && hole_is_at(file->fd, at, size)) {
        if (tree_check(item, file->fd, err) < 0)
            return -1;
        memcpy(sum, hole_hash(), CHUNK_HASH_BYTES);
    } else {
        if (sum_read(trees, item, file, at, bytes, size, err) < 0)
            return -1;
        chunk_hash(bytes, size, sum);
    }
    item->summed++;
    return 0;
}

static int open_item(const struct trees *trees, const struct tree_item *item,
                     struct sum_file *file, struct error *err)
{
    if (file->item == item)
        return 0;
    sum_file_close(file);
    file->fd = tree_open(trees, item, err);
    if (file->fd < 0)
        return -1;
    file->item = item;
    return 0;
}

int sum_read(const struct trees *trees, const struct tree_item *item, struct sum_file *file,
             uint64_t at, void *bytes, size_t size, struct error *err)
{
    char   *to = bytes;
    ssize_t got;

    if (open_item(trees, item, file, err) < 0)
        return -1;
    for (; size > 0; size -= (size_t)got, at += (uint64_t)got, to += got) {
        got = pread(file->fd, to, size, (off_t)at);
        if (got <= 0)
            return err_set(err, "%s", got < 0 ? strerror(errno) : "has become shorter");
    }
    return tree_check(item, file->fd, err);
}

void sum_file_close(struct sum_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    *file = SUM_FILE_NONE;
}
