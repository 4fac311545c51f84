/* bcast_files.c - sends the parts of a tree to a node, and handles the answers
 *
 * ENTRIES and the contents of chunks use credit, which the agent returns when it has handled
 * them. ROWS_MAX and ROWS_BYTES limit the hashes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/bcast.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "xalloc.h"

#define PART_MAX (128u << 10) /* bytes of a chunk, entries or hashes in one frame */

static bool next_need(struct bcast *bcast, struct node *node, struct copy *copy);
static void take_back(struct run *run, struct node *node, struct copy *copy, struct chunk chunk,
                      const char *why);
static bool has_room(const struct rows *rows, size_t size);
static bool add_row(struct run *run, struct node *node, struct copy *copy, struct buffer *body);
static const unsigned char *next_hash(struct run *run, struct node *node, struct copy *copy,
                                      bool is_unsent, struct chunk *chunk);
static bool is_known(const struct trees *trees, struct chunk chunk);
static void send_with_credit(struct node *node, struct copy *copy, enum frame_type type,
                             const unsigned char *body, size_t size);

void bcast_files_clear(struct copy *copy)
{
    sum_file_close(&copy->needs.file);
    free(copy->needs.chunk);
    free(copy->wanted);
}

/* --- contents --------------------------------------------------------------- */

/* Sends a part of a chunk. */
bool bcast_send_needed(struct run *run, struct node *node, struct copy *copy)
{
    static unsigned char bytes[PART_MAX];
    struct bcast        *bcast = bcast_of(run);
    struct needs        *needs = &copy->needs;
    const struct tree_item *item;
    struct error         why;
    size_t               size;
    int                  rc;

    if (needs->left == 0 && !next_need(bcast, node, copy))
        return false;
    item = &bcast->trees.tree[needs->now.tree].item[needs->now.file];
    size = needs->left < PART_MAX ? (size_t)needs->left : PART_MAX;
    size = size < bcast->window / 2 ? size : bcast->window / 2;
    if (copy->credit < size)
        return false;
    if (bcast->origin == NULL)
        rc = sum_read(&bcast->trees, item, &needs->file, needs->at, bytes, size, &why);
    else if ((rc = origin_read(run, needs->now, needs->at, bytes, size, &why)) == 0)
        return false;
    if (rc < 0) {
        node_send_raw(node, FRAME_DATA, NULL, 0);
        needs->left = 0;
        take_back(run, node, copy, needs->now, why.text);
        return true;
    }
    send_with_credit(node, copy, FRAME_DATA, bytes, size);
    needs->at += size;
    needs->left -= size;
    return true;
}

static bool next_need(struct bcast *bcast, struct node *node, struct copy *copy)
{
    struct needs *needs = &copy->needs;
    unsigned char id[CHUNK_ID_BYTES];
    uint64_t      size;

    if (needs->next == needs->count || copy->credit < sizeof id)
        return false;
    needs->now = needs->chunk[needs->next++];
    size = bcast->trees.tree[needs->now.tree].item[needs->now.file].size;
    needs->at = (uint64_t)needs->now.index * CHUNK_BYTES;
    needs->left = chunk_size(size, needs->now.index);
    chunk_put(id, needs->now);
    send_with_credit(node, copy, FRAME_FILE, id, sizeof id);
    return true;
}

/* Withdraws a file that changes while it is sent. */
static void take_back(struct run *run, struct node *node, struct copy *copy, struct chunk chunk,
                      const char *why)
{
    unsigned char row[CHUNK_ROW_BYTES] = { 0 };
    size_t        i, kept = 0;

    bcast_failed(run, node, chunk.tree, chunk.file, "read", why);
    chunk.index = CHUNK_WITHDRAWN;
    chunk_put(row, chunk);
    node_send_raw(node, FRAME_SUMS, row, sizeof row);
    for (i = copy->needs.next; i < copy->needs.count; i++)
        if (copy->needs.chunk[i].tree != chunk.tree || copy->needs.chunk[i].file != chunk.file)
            copy->needs.chunk[copy->needs.next + kept++] = copy->needs.chunk[i];
    copy->needs.count = copy->needs.next + kept;
    if (copy->wanted_next < copy->wanted_count && chunk.tree == copy->tree &&
        copy->wanted[copy->wanted_next] == chunk.file) {
        copy->wanted_next++;
        copy->chunk = 0;
    }
}

/* --- hashes ----------------------------------------------------------------- */

bool bcast_send_rows(struct run *run, struct node *node, struct copy *copy)
{
    struct buffer body = { 0 };
    bool          is_sent;

    if (!copy->source.is_settled)
        return false;
    while (body.size + CHUNK_ROW_BYTES <= PART_MAX && add_row(run, node, copy, &body))
        ;
    is_sent = body.size > 0;
    if (is_sent)
        node_send_raw(node, FRAME_SUMS, body.bytes, body.size);
    buffer_clear(&body);
    return is_sent;
}

static bool add_row(struct run *run, struct node *node, struct copy *copy, struct buffer *body)
{
    struct bcast        *bcast = bcast_of(run);
    struct chunk         chunk;
    const unsigned char *hash = next_hash(run, node, copy, body->size > 0, &chunk);
    uint64_t             size;

    if (hash == NULL)
        return false;
    size = bcast->trees.tree[chunk.tree].item[chunk.file].size;
    chunk_put((unsigned char *)buffer_reserve(body, CHUNK_ID_BYTES), chunk);
    body->size += CHUNK_ID_BYTES;
    buffer_add(body, hash, CHUNK_HASH_BYTES);
    copy->rows.size[copy->rows.sent++ % ROWS_MAX] = (uint32_t)chunk_size(size, chunk.index);
    copy->rows.bytes += chunk_size(size, chunk.index);
    if (++copy->chunk == chunk_count(size)) {
        copy->chunk = 0;
        copy->wanted_next++;
    }
    if (copy->wanted_next == copy->wanted_count)
        copy->wanted_next = copy->wanted_count = 0;
    return true;
}

/* Returns the hash of the next chunk. NULL: there is none, or no room for it, or it must
 * withdraw a file but a row is_unsent, which must be sent first. */
static const unsigned char *next_hash(struct run *run, struct node *node, struct copy *copy,
                                      bool is_unsent, struct chunk *chunk)
{
    struct bcast        *bcast = bcast_of(run);
    struct tree_item    *item;
    const unsigned char *hash;

    while (copy->wanted_next < copy->wanted_count) {
        *chunk = (struct chunk){ (uint32_t)copy->tree, copy->wanted[copy->wanted_next],
                                 copy->chunk };
        item = &bcast->trees.tree[chunk->tree].item[chunk->file];
        if (!has_room(&copy->rows, chunk_size(item->size, chunk->index)))
            return NULL;
        hash = bcast->origin != NULL
                   ? origin_hash(run, chunk->file, chunk->index)
                   : sum_of(&bcast->trees, item, chunk->index, &bcast->hashed);
        if (hash != NULL || is_unsent || item->fault == NULL)
            return hash;
        take_back(run, node, copy, *chunk, item->fault);
    }
    return NULL;
}

static bool has_room(const struct rows *rows, size_t size)
{
    return rows->sent - rows->settled < ROWS_MAX && rows->bytes + size <= ROWS_BYTES;
}

bool bcast_send_entries(struct run *run, struct node *node, struct copy *copy)
{
    const struct tree *tree = &bcast_of(run)->trees.tree[copy->tree];
    size_t             most = copy->credit < PART_MAX ? copy->credit : PART_MAX, size = 0;
    unsigned char     *body;

    if (most < ENTRY_BYTES_MAX)
        return false;
    body = xmalloc(most);
    while (copy->item < tree->items && size + ENTRY_BYTES_MAX <= most) {
        struct entry entry = tree_entry(&tree->item[copy->item++]);

        size += entry_put(body + size, &entry);
    }
    send_with_credit(node, copy, FRAME_ENTRIES, body, size);
    copy->unanswered++;
    free(body);
    return true;
}

static void send_with_credit(struct node *node, struct copy *copy, enum frame_type type,
                             const unsigned char *body, size_t size)
{
    copy->credit -= size;
    node_send_raw(node, type, body, size);
}

/* --- answers ---------------------------------------------------------------- */

/* The numbers must increase, so that no file comes twice. */
bool bcast_take_wanted(struct bcast *bcast, struct copy *copy, const struct frame *frame)
{
    const struct tree *tree = &bcast->trees.tree[copy->tree];
    size_t             i, count = frame->size / 4;

    if (copy->unanswered == 0 || frame->size % 4 != 0)
        return false;
    copy->unanswered--;
    copy->wanted = xreallocarray(copy->wanted, copy->wanted_count + count + 1,
                                 sizeof *copy->wanted);
    for (i = 0; i < count; i++) {
        uint32_t number = get_u32(frame->body + 4 * i);

        if (number <= copy->highest || number >= copy->item ||
            tree->item[number].type != ENTRY_FILE || tree->item[number].size == 0)
            return false;
        copy->highest = number;
        copy->wanted[copy->wanted_count++] = number;
    }
    return true;
}

/* A node may request any chunk whose hash it was sent, in any order. It may request one twice,
 * if another node sent it wrong bytes. */
bool bcast_take_need(struct bcast *bcast, struct copy *copy, const struct frame *frame)
{
    struct needs *needs = &copy->needs;
    size_t        i, count = frame->size / CHUNK_ID_BYTES;

    needs->count -= needs->next;
    if (needs->count > 0 && needs->next > 0)
        memmove(needs->chunk, needs->chunk + needs->next, needs->count * sizeof *needs->chunk);
    needs->next = 0;
    needs->taken += count;
    if (frame->size % CHUNK_ID_BYTES != 0 || needs->taken > 2 * copy->rows.sent ||
        needs->count + count > 2 * CHUNK_OPEN_MAX)
        return false;
    if (needs->room < needs->count + count) {
        needs->room = needs->count + count;
        needs->chunk = xreallocarray(needs->chunk, needs->room, sizeof *needs->chunk);
    }
    for (i = 0; i < count; i++) {
        struct chunk chunk = chunk_get(frame->body + i * CHUNK_ID_BYTES);

        if (!is_known(&bcast->trees, chunk))
            return false;
        needs->chunk[needs->count++] = chunk;
    }
    return true;
}

/* Is the chunk's hash known, so that some node was sent it? */
static bool is_known(const struct trees *trees, struct chunk chunk)
{
    return chunk.tree < trees->count && chunk.file < trees->tree[chunk.tree].items &&
           trees->tree[chunk.tree].item[chunk.file].type == ENTRY_FILE &&
           chunk.index < trees->tree[chunk.tree].item[chunk.file].summed;
}

bool bcast_take_have(struct copy *copy, const struct frame *frame)
{
    uint64_t settled;

    if (frame->size != 32)
        return false;
    settled = get_u64(frame->body);
    if (settled < copy->rows.settled || settled > copy->rows.sent)
        return false;
    while (copy->rows.settled < settled)
        copy->rows.bytes -= copy->rows.size[copy->rows.settled++ % ROWS_MAX];
    copy->files = get_u64(frame->body + 8);
    copy->bytes = get_u64(frame->body + 16);
    copy->node_bytes = get_u64(frame->body + 24);
    return true;
}
