/* page_points.c - see page_points.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "page/page_points.h"

#include <inttypes.h>
#include <stdio.h>

#include "buffer.h"

char *page_points(const struct step_history *history, uint64_t after, double offset_s)
{
    struct buffer text = { 0 };
    char          one[96], loss[32];
    size_t        i;

    for (i = 0; i < history->count; i++) {
        const struct step_point *point = &history->point[i];

        if (point->number <= after)
            continue;
        snprintf(loss, sizeof loss, "%.6g", point->loss);
        snprintf(one, sizeof one, "%s[%.2f,%" PRId64 ",%s]", text.size > 0 ? "," : "[",
                 point->at_s + offset_s, point->step, point->has_loss ? loss : "null");
        buffer_add_text(&text, one);
    }
    if (text.size > 0)
        buffer_add(&text, "]", 2); /* with the end of the string */
    return text.bytes;
}
