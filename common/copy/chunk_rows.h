/* chunk_rows.h - the chunks that this node must have and does not have yet
 *
 * There are at most CHUNK_OPEN_MAX, in the order in which the launcher announced them. They are
 * mostly settled in that order, too, so a search begins with the first.
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
    size_t            unasked; /* how many rows were not requested yet */
};

/* Returns false if there is no room for more. */
bool chunk_rows_add(struct chunk_rows *rows, struct chunk chunk, const unsigned char *hash);
void chunk_rows_clear(struct chunk_rows *rows);

/* Returns NULL if chunk has no row. Valid until a row is added or removed. */
struct chunk_row *chunk_rows_find(const struct chunk_rows *rows, struct chunk chunk);
void              chunk_rows_remove(struct chunk_rows *rows, struct chunk_row *row);
/* Removes all rows of a file. Returns how many. */
size_t            chunk_rows_remove_file(struct chunk_rows *rows, uint32_t tree, uint32_t file);

/* Copies up to `most` chunks that were not requested yet to ids, and marks them as requested
 * from whom. Returns how many. */
size_t chunk_rows_ask(struct chunk_rows *rows, enum chunk_asked whom, struct chunk *ids,
                      size_t most);
/* Marks this row as requested from the launcher, whether or not it was requested before. */
void   chunk_rows_ask_launcher(struct chunk_rows *rows, struct chunk_row *row);
/* The request for this row has failed. */
void   chunk_rows_unask(struct chunk_rows *rows, struct chunk_row *row);
/* All requests to the node have failed. */
void   chunk_rows_unask_node(struct chunk_rows *rows);

#endif
