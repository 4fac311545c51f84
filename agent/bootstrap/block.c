/* block.c - see block.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/block.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"

#define BEGIN_LINE BLOCK_BEGIN ": written by muster bootstrap, which replaces these lines\n"

static void add_block(struct buffer *out, const char *lines);

char *block_put(const char *text, const char *lines, struct error *err)
{
    struct buffer out = { 0 };
    const char   *at, *end;
    bool          is_inside = false, is_put = lines == NULL || lines[0] == '\0';

    for (at = text; *at != '\0'; at = end) {
        end = at + strcspn(at, "\n");
        end += *end == '\n';
        if (block_is_line(at, BLOCK_BEGIN)) {
            is_inside = true;
            if (!is_put)
                add_block(&out, lines);
            is_put = true;
        }
        if (!is_inside)
            buffer_add(&out, at, (size_t)(end - at));
        if (block_is_line(at, BLOCK_END))
            is_inside = false;
    }
    if (is_inside) {
        buffer_clear(&out);
        err_set(err, "a line '" BLOCK_BEGIN "' has no '" BLOCK_END "' after it");
        return NULL;
    }
    if (!is_put) {
        if (out.size > 0 && out.bytes[out.size - 1] != '\n')
            buffer_add_text(&out, "\n");
        add_block(&out, lines);
    }
    buffer_add(&out, "", 1);
    return out.bytes;
}

bool block_is_line(const char *at, const char *mark)
{
    size_t length = strlen(mark);

    return strncmp(at, mark, length) == 0 && strchr(":\r\n", at[length]) != NULL;
}

static void add_block(struct buffer *out, const char *lines)
{
    buffer_add_text(out, BEGIN_LINE);
    buffer_add_text(out, lines);
    buffer_add_text(out, BLOCK_END "\n");
}
