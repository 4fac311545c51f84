/* bcast_items.h - the entries announced to this node, and how much of each is here
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_ITEMS_H
#define MUSTER_AGENT_BCAST_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "copy/chunk.h"
#include "copy/bcast_file.h"
#include "entry.h"

enum item_state {
    ITEM_NONE,   /* it will not come */
    ITEM_WANTED, /* a file of which a part is missing */
    ITEM_HERE,   /* a file that is complete */
    ITEM_DIR,    /* these wait for bcast_receive_finish() */
    ITEM_LINK,
    ITEM_HARD,
};

struct item {
    enum item_state    state;
    char              *path; /* below the root; NULL for ITEM_NONE */
    uint64_t           size;  /* as in struct entry */
    struct timespec    mtime;
    uint32_t           mode;
    bool               was_absent; /* nothing had this name when the file was announced */
    uint32_t           rows;   /* chunks announced, in order */
    uint32_t           missing; /* chunks not here yet */
    unsigned char     *have;   /* a bit for each chunk; NULL: none */
    struct bcast_file *file;   /* NULL: none is open */
};

/* The entries of one tree. */
struct items {
    int          root_fd; /* -1: the tree was not announced */
    struct item *item;
    uint32_t     count, room;
};

/* Adds the next item, as ITEM_NONE. Valid until the next call. */
struct item *items_add(struct items *items);
void         items_clear(struct items *items); /* closes root_fd, too */

/* Copies what is needed from an entry. */
void items_want(struct item *item, const struct entry *entry, enum item_state state);
/* The file is here, or will not come. Drops a file that is still open. */
void items_settle(struct item *item, enum item_state state);

/* Is it a file that is here or will come? */
bool items_is_file(const struct item *item);

bool items_has(const struct item *item, uint32_t index);
void items_set(struct item *item, uint32_t index);

/* Returns the entry of a file, as far as items_want() copied it. */
struct entry items_entry(const struct item *item);

#endif
