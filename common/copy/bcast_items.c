/* bcast_items.c - see bcast_items.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_items.h"

#include <stdlib.h>
#include <unistd.h>

#include "xalloc.h"

struct item *items_add(struct items *items)
{
    if (items->count == items->room) {
        items->room = items->room > 0 ? items->room * 2 : 64;
        items->item = xreallocarray(items->item, items->room, sizeof *items->item);
    }
    items->item[items->count] = (struct item){ .state = ITEM_NONE };
    return &items->item[items->count++];
}

void items_clear(struct items *items)
{
    uint32_t i;

    for (i = 0; i < items->count; i++) {
        if (items->item[i].file != NULL)
            bcast_file_keep(items->item[i].file);
        free(items->item[i].file);
        free(items->item[i].have);
        free(items->item[i].path);
    }
    free(items->item);
    if (items->root_fd >= 0)
        close(items->root_fd);
    *items = (struct items){ .root_fd = -1 };
}

void items_want(struct item *item, const struct entry *entry, enum item_state state)
{
    *item = (struct item){ .state = state, .path = xstrdup(entry->path), .size = entry->size,
                           .mtime = entry->mtime, .mode = entry->mode,
                           .missing = chunk_count(entry->size) };
}

bool items_is_file(const struct item *item)
{
    return item->state == ITEM_WANTED || item->state == ITEM_HERE;
}

void items_settle(struct item *item, enum item_state state)
{
    item->state = state;
    free(item->have);
    if (item->file != NULL)
        bcast_file_drop(item->file);
    free(item->file);
    item->have = NULL;
    item->file = NULL;
    if (state != ITEM_NONE)
        return;
    free(item->path);
    item->path = NULL;
}

bool items_has(const struct item *item, uint32_t index)
{
    return item->state == ITEM_HERE ||
           (item->have != NULL && (item->have[index / 8] >> (index % 8) & 1) != 0);
}

void items_set(struct item *item, uint32_t index)
{
    if (item->have == NULL)
        item->have = xcalloc(chunk_count(item->size) / 8 + 1, 1);
    item->have[index / 8] |= (unsigned char)(1u << index % 8);
    item->missing--;
}

struct entry items_entry(const struct item *item)
{
    return (struct entry){ .type = ENTRY_FILE, .mode = item->mode, .size = item->size,
                           .mtime = item->mtime, .path = item->path, .target = "" };
}
