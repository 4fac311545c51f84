/* chunk_rows.c - see chunk_rows.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/chunk_rows.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

bool chunk_rows_add(struct chunk_rows *rows, struct chunk chunk, const unsigned char *hash)
{
    struct chunk_row *row;

    if (rows->count == CHUNK_OPEN_MAX)
        return false;
    if (rows->row == NULL)
        rows->row = xcalloc(CHUNK_OPEN_MAX, sizeof *rows->row);
    row = &rows->row[rows->count++];
    *row = (struct chunk_row){ .chunk = chunk };
    memcpy(row->hash, hash, sizeof row->hash);
    rows->unasked++;
    return true;
}

void chunk_rows_clear(struct chunk_rows *rows)
{
    free(rows->row);
    *rows = (struct chunk_rows){ 0 };
}

struct chunk_row *chunk_rows_find(const struct chunk_rows *rows, struct chunk chunk)
{
    size_t i;

    for (i = 0; i < rows->count; i++)
        if (chunk_same(rows->row[i].chunk, chunk))
            return &rows->row[i];
    return NULL;
}

void chunk_rows_remove(struct chunk_rows *rows, struct chunk_row *row)
{
    size_t behind = rows->count - (size_t)(row - rows->row) - 1;

    rows->unasked -= row->asked == ASKED_NOBODY;
    memmove(row, row + 1, behind * sizeof *row);
    rows->count--;
}

size_t chunk_rows_remove_file(struct chunk_rows *rows, uint32_t tree, uint32_t file)
{
    size_t i, removed = 0;

    for (i = 0; i < rows->count;) {
        if (rows->row[i].chunk.tree == tree && rows->row[i].chunk.file == file) {
            chunk_rows_remove(rows, &rows->row[i]);
            removed++;
        } else {
            i++;
        }
    }
    return removed;
}

size_t chunk_rows_ask(struct chunk_rows *rows, enum chunk_asked whom, struct chunk *ids,
                      size_t most)
{
    size_t i, count = 0;

    for (i = 0; i < rows->count && rows->unasked > 0 && count < most; i++) {
        if (rows->row[i].asked != ASKED_NOBODY)
            continue;
        rows->row[i].asked = whom;
        rows->unasked--;
        ids[count++] = rows->row[i].chunk;
    }
    return count;
}

void chunk_rows_ask_launcher(struct chunk_rows *rows, struct chunk_row *row)
{
    rows->unasked -= row->asked == ASKED_NOBODY;
    row->asked = ASKED_LAUNCHER;
}

void chunk_rows_unask(struct chunk_rows *rows, struct chunk_row *row)
{
    rows->unasked += row->asked != ASKED_NOBODY;
    row->asked = ASKED_NOBODY;
}

void chunk_rows_unask_node(struct chunk_rows *rows)
{
    size_t i;

    for (i = 0; i < rows->count; i++)
        if (rows->row[i].asked == ASKED_NODE)
            chunk_rows_unask(rows, &rows->row[i]);
}
