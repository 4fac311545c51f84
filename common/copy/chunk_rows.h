/* chunk_rows.h - the chunks that this node was told to have and does not have yet
 *
 * At most CHUNK_OPEN_MAX of them, in the order in which the launcher announced them. They are
 * mostly settled in that order, too, and so the first ones are looked at first.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CHUNK_ROWS_H
#define MUSTER_AGENT_CHUNK_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "copy/chunk.h"

enum chunk_asked { ASKED_NOBODY, ASKED_NODE, ASKED_LAUNCHER };

struct chunk_row {
    struct chunk     chunk;
    unsigned char    hash[CHUNK_HASH_BYTES];
    enum chunk_asked asked;
};

struct chunk_rows {
    struct chunk_row *row; /* NULL: none yet */
    size_t            count;
    size_t            unasked; /* how many of them nobody was asked for */
};

/* False: there is no room for more. */
bool chunk_rows_add(struct chunk_rows *rows, struct chunk chunk, const unsigned char *hash);
void chunk_rows_clear(struct chunk_rows *rows);

/* NULL: it is not one of them. Valid until one is added or removed. */
struct chunk_row *chunk_rows_find(const struct chunk_rows *rows, struct chunk chunk);
void              chunk_rows_remove(struct chunk_rows *rows, struct chunk_row *row);
/* All those of a file. Returns how many. */
size_t            chunk_rows_remove_file(struct chunk_rows *rows, uint32_t tree, uint32_t file);

/* Take up to `most` that nobody was asked for into ids, and mark them as asked. Returns how
 * many. */
size_t chunk_rows_ask(struct chunk_rows *rows, enum chunk_asked whom, struct chunk *ids,
                      size_t most);
/* This one the launcher is asked for, whoever was asked before. */
void   chunk_rows_ask_launcher(struct chunk_rows *rows, struct chunk_row *row);
/* This one will not come from there. */
void   chunk_rows_unask(struct chunk_rows *rows, struct chunk_row *row);
/* None will come from the node that was asked. */
void   chunk_rows_unask_node(struct chunk_rows *rows);

#endif
