/* bcast_chunks.c - the contents of the files that muster bcast sends; see bcast_receive.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_receive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/bcast_receive_state.h"
#include "xalloc.h"

static int  take_row(struct bcast_receive *receiver, const unsigned char *row, struct error *err);
static void take_back(struct bcast_receive *receiver, struct chunk chunk);
static bool look_here(struct bcast_receive *receiver, struct item *item, struct chunk chunk,
                      const unsigned char *hash);
static bool is_there(struct bcast_receive *receiver, struct chunk chunk);
static bool begin_file(struct bcast_receive *receiver, struct item *item, struct chunk chunk,
                       bool with_old);
static void has_chunk(struct bcast_receive *receiver, struct item *item, struct chunk chunk);
static void finish_small(struct bcast_receive *receiver);
static void finish_file(struct bcast_receive *receiver, struct item *item, struct chunk chunk);
static bool read_here(const struct items *tree, const struct item *item, uint32_t index,
                      void *bytes);
static void give_up(struct bcast_receive *receiver, struct item *item, struct chunk chunk,
                    const char *what, int error);

int bcast_receive_sums(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                       struct error *err)
{
    int rc = 0;

    if (size % CHUNK_ROW_BYTES != 0)
        return err_set(err, "SUMS frame with a truncated row");
    for (; size > 0 && rc == 0; size -= CHUNK_ROW_BYTES, body += CHUNK_ROW_BYTES)
        rc = take_row(receiver, body, err);
    bcast_receive_forget(receiver);
    return rc;
}

static int take_row(struct bcast_receive *receiver, const unsigned char *row, struct error *err)
{
    struct chunk chunk = chunk_get(row);
    struct item *item = bcast_receive_item(receiver, chunk);

    if (item == NULL)
        return err_set(err, "file %u of tree %u was never announced", chunk.file, chunk.tree);
    if (chunk.index == CHUNK_WITHDRAWN) {
        take_back(receiver, chunk);
        return 0;
    }
    if (!items_is_file(item)) { /* already reported, or something else */
        receiver->counts.rows++;
        return 0;
    }
    if (item->state == ITEM_HERE || chunk.index != item->rows ||
        chunk.index >= chunk_count(item->size))
        return err_set(err, "chunk %u of file %u, which is not the next one", chunk.index,
                       chunk.file);
    item->rows++;
    if (look_here(receiver, item, chunk, row + CHUNK_ID_BYTES))
        return 0;
    if (!chunk_rows_add(&receiver->open, chunk, row + CHUNK_ID_BYTES))
        return err_set(err, "more than %u chunks announced", CHUNK_OPEN_MAX);
    return 0;
}

/* Withdraws a file that the launcher could not read to its end. */
static void take_back(struct bcast_receive *receiver, struct chunk chunk)
{
    receiver->counts.rows += chunk_rows_remove_file(&receiver->open, chunk.tree, chunk.file);
    if (bcast_receive_item(receiver, chunk)->state == ITEM_WANTED)
        items_settle(bcast_receive_item(receiver, chunk), ITEM_NONE);
}

/* Looks for a chunk on this node. Returns true if its row is settled. */
static bool look_here(struct bcast_receive *receiver, struct item *item, struct chunk chunk,
                      const unsigned char *hash)
{
    bool is_small = chunk_count(item->size) == 1;

    if (is_small && (item->was_absent || !is_there(receiver, chunk)))
        return false;
    if (item->file == NULL && !begin_file(receiver, item, chunk, true)) {
        receiver->counts.rows++;
        return true;
    }
    if (bcast_file_has(item->file, chunk.index, hash, receiver->room)) {
        receiver->counts.rows++;
        has_chunk(receiver, item, chunk);
        return true;
    }
    if (is_small) { /* many of them may wait at once: none stays open */
        bcast_file_drop(item->file);
        free(item->file);
        item->file = NULL;
    }
    return false;
}

/* Is there a file with this name? */
static bool is_there(struct bcast_receive *receiver, struct chunk chunk)
{
    struct safe_place place;
    struct stat       now;

    return bcast_receive_find(receiver, chunk.tree, bcast_receive_item(receiver, chunk)->path,
                              &place) == 0 &&
           safe_look(&place, &now) > 0 && S_ISREG(now.st_mode);
}

bool bcast_receive_chunk(struct bcast_receive *receiver, struct chunk chunk, const void *bytes,
                         size_t size)
{
    struct chunk_row *row = chunk_rows_find(&receiver->open, chunk);
    struct item      *item = bcast_receive_item(receiver, chunk);
    unsigned char     hash[CHUNK_HASH_BYTES];
    const char       *what;

    if (row == NULL)
        return true;
    chunk_hash(bytes, size, hash);
    if (size != chunk_size(item->size, chunk.index) || memcmp(hash, row->hash, sizeof hash) != 0) {
        chunk_rows_unask(&receiver->open, row);
        return false;
    }
    chunk_rows_remove(&receiver->open, row);
    receiver->counts.rows++;
    receiver->counts.bytes += size;
    if (item->file == NULL && !begin_file(receiver, item, chunk, item->size > CHUNK_BYTES))
        return true; /* a small file was compared before */
    what = bcast_file_write(item->file, chunk.index, bytes);
    if (what != NULL)
        give_up(receiver, item, chunk, what, errno);
    else
        has_chunk(receiver, item, chunk);
    return true;
}

void bcast_receive_spoilt(struct bcast_receive *receiver, struct chunk chunk)
{
    struct item *item = bcast_receive_item(receiver, chunk);

    if (item == NULL || item->state != ITEM_WANTED)
        return;
    receiver->counts.rows += chunk_rows_remove_file(&receiver->open, chunk.tree, chunk.file);
    receiver->ops->failed(chunk.tree, chunk.file, item->path, "read",
                          "it changed while it was being sent", false, receiver->arg);
    items_settle(item, ITEM_NONE);
}

/* Returns false if the file cannot be made, which has then been reported. */
static bool begin_file(struct bcast_receive *receiver, struct item *item, struct chunk chunk,
                       bool with_old)
{
    struct entry      entry = items_entry(item);
    struct safe_place place;
    const char       *what = "find the directory";

    item->file = xcalloc(1, sizeof *item->file);
    item->file->fd = item->file->old_fd = item->file->dir_fd = -1;
    if (safe_find(receiver->tree[chunk.tree].root_fd, item->path, &place) == 0)
        what = bcast_file_begin(item->file, &place, &entry, with_old);
    if (what != NULL)
        give_up(receiver, item, chunk, what, errno);
    return what == NULL;
}

/* Gives up the file: no more of it will be received. */
static void give_up(struct bcast_receive *receiver, struct item *item, struct chunk chunk,
                    const char *what, int error)
{
    receiver->counts.rows += chunk_rows_remove_file(&receiver->open, chunk.tree, chunk.file);
    bcast_receive_failed(receiver, chunk, item->path, what, error);
    items_settle(item, ITEM_NONE);
}

void bcast_chunks_empty(struct bcast_receive *receiver, struct item *item, struct chunk chunk)
{
    if (begin_file(receiver, item, chunk, false))
        has_chunk(receiver, item, chunk);
}

/* Notes that the chunk was written, or that the file has none at all. The only row of a small
 * file is settled together with the file. */
static void has_chunk(struct bcast_receive *receiver, struct item *item, struct chunk chunk)
{
    const char *what;

    if (item->missing > 0)
        items_set(item, chunk.index);
    if (item->missing > 0)
        return;
    what = bcast_file_complete(item->file);
    if (what != NULL) {
        give_up(receiver, item, chunk, what, errno);
    } else if (chunk_count(item->size) > 1) {
        finish_file(receiver, item, chunk);
    } else {
        receiver->counts.rows -= chunk_count(item->size);
        receiver->complete[receiver->completed++] = chunk;
        if (receiver->completed >= receiver->small_files)
            finish_small(receiver);
    }
}

void bcast_receive_settle(struct bcast_receive *receiver)
{
    if (receiver->open.count == 0)
        finish_small(receiver);
}

static void finish_small(struct bcast_receive *receiver)
{
    struct item *item;
    size_t       i;

    for (i = 0; i < receiver->completed; i++) {
        item = bcast_receive_item(receiver, receiver->complete[i]);
        receiver->counts.rows += chunk_count(item->size);
        if (item->file != NULL) /* else the launcher took it back */
            finish_file(receiver, item, receiver->complete[i]);
    }
    receiver->completed = 0;
}

static void finish_file(struct bcast_receive *receiver, struct item *item, struct chunk chunk)
{
    const char *what = bcast_file_finish(item->file);

    if (what != NULL) {
        give_up(receiver, item, chunk, what, errno);
        return;
    }
    receiver->counts.files++;
    items_settle(item, ITEM_HERE);
}

size_t bcast_receive_chunk_size(const struct bcast_receive *receiver, struct chunk chunk)
{
    const struct item *item = bcast_receive_item(receiver, chunk);

    return item == NULL || !items_is_file(item) || chunk.index >= chunk_count(item->size)
               ? 0 : chunk_size(item->size, chunk.index);
}

bool bcast_receive_was_announced(const struct bcast_receive *receiver, struct chunk chunk)
{
    return bcast_receive_item(receiver, chunk) != NULL;
}

struct chunk_rows *bcast_receive_rows(struct bcast_receive *receiver)
{
    return &receiver->open;
}

const struct bcast_counts *bcast_receive_counts(const struct bcast_receive *receiver)
{
    return &receiver->counts;
}

/* A tree or an entry that is not announced yet may still come. */
int bcast_receive_read(struct bcast_receive *receiver, struct chunk chunk, void *bytes,
                       size_t *size)
{
    const struct item *item = bcast_receive_item(receiver, chunk);

    if (item == NULL)
        return 0;
    *size = bcast_receive_chunk_size(receiver, chunk);
    if (*size == 0)
        return -1;
    if (!items_has(item, chunk.index))
        return 0;
    return read_here(&receiver->tree[chunk.tree], item, chunk.index, bytes) ? 1 : -1;
}

static bool read_here(const struct items *tree, const struct item *item, uint32_t index,
                      void *bytes)
{
    struct bcast_file file = { .size = item->size };
    struct safe_place place;
    bool              is_read;

    if (item->file != NULL)
        return bcast_file_read(item->file, index, bytes);
    if (safe_find(tree->root_fd, item->path, &place) < 0)
        return false;
    file.fd = openat(place.dir_fd, place.name,
                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    close(place.dir_fd);
    is_read = file.fd >= 0 && bcast_file_read(&file, index, bytes);
    if (file.fd >= 0)
        close(file.fd);
    return is_read;
}
