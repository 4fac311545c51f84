/* fold.c - see fold.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/fold.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostrange.h"
#include "strlist.h"
#include "xalloc.h"

static void add_group(const struct strlist *hosts, const struct fold_item *item,
                      struct buffer *out);

void fold_write(const struct fold_item *items, size_t count, struct buffer *out)
{
    bool  *is_done = xcalloc(count, sizeof *is_done);
    size_t i, j;

    for (i = 0; i < count; i++) {
        struct strlist hosts = { 0 };

        if (is_done[i] || items[i].size == 0)
            continue;
        for (j = i; j < count; j++) {
            if (is_done[j] || items[j].size != items[i].size ||
                memcmp(items[j].bytes, items[i].bytes, items[i].size) != 0)
                continue;
            is_done[j] = true;
            strlist_add(&hosts, items[j].host);
        }
        add_group(&hosts, &items[i], out);
        strlist_clear(&hosts);
    }
    free(is_done);
}

static void add_group(const struct strlist *hosts, const struct fold_item *item,
                      struct buffer *out)
{
    static const char rule[] = "---------------\n";
    char             *names = hostrange_fold(hosts), number[32] = "";

    if (hosts->count > 1)
        snprintf(number, sizeof number, " (%zu)", hosts->count);
    buffer_add_text(out, rule);
    buffer_add_text(out, names);
    buffer_add_text(out, number);
    buffer_add_text(out, "\n");
    buffer_add_text(out, rule);
    buffer_add(out, item->bytes, item->size);
    if (item->bytes[item->size - 1] != '\n')
        buffer_add_text(out, "\n");
    free(names);
}
