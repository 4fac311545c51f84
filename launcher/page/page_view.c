/* page_view.c - see page_view.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "page/page_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

static void add(struct buffer *text, const char *name, const char *json);

static const char *const names[PAGE_PARTS] = {
    [PAGE_RUN] = "run",
    [PAGE_STATE] = "state",
    [PAGE_NODES] = "nodes",
    [PAGE_RANKS] = "ranks",
    [PAGE_BEHIND] = "behind",
    [PAGE_STEP] = "step",
    [PAGE_GENERATIONS] = "generations",
    [PAGE_SUSPECTS] = "suspects",
    [PAGE_CHECKPOINTS] = "checkpoints",
};

void page_view_clear(struct page_view *view)
{
    size_t i;

    for (i = 0; i < PAGE_PARTS; i++)
        free(view->part[i].json);
    *view = (struct page_view){ 0 };
}

void page_view_next(struct page_view *view)
{
    view->version++;
}

void page_view_set(struct page_view *view, enum page_part part, char *json)
{
    if (view->part[part].json != NULL && strcmp(view->part[part].json, json) == 0) {
        free(json);
        return;
    }
    free(view->part[part].json);
    view->part[part].json = json;
    view->part[part].version = view->version;
}

char *page_view_message(const struct page_view *view, uint64_t after, const char *points,
                        const char *events)
{
    struct buffer text = { 0 };
    char          head[48];
    size_t        empty, i;

    if (after > view->version)
        after = 0;
    snprintf(head, sizeof head, "{\"version\":%" PRIu64, view->version);
    buffer_add_text(&text, head);
    empty = text.size;
    for (i = 0; i < PAGE_PARTS; i++)
        if (view->part[i].json != NULL && view->part[i].version > after)
            add(&text, names[i], view->part[i].json);
    if (points != NULL)
        add(&text, "points", points);
    if (events != NULL)
        add(&text, "events", events);
    if (text.size == empty)
        buffer_clear(&text);
    else
        buffer_add(&text, "}", 2); /* with the end of the string */
    return text.bytes;
}

static void add(struct buffer *text, const char *name, const char *json)
{
    buffer_add_text(text, ",\"");
    buffer_add_text(text, name);
    buffer_add_text(text, "\":");
    buffer_add_text(text, json);
}
