/* buffer.c - see buffer.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define ROOM_AT_FIRST 256

char *buffer_reserve(struct buffer *buffer, size_t more)
{
    size_t room = buffer->room > 0 ? buffer->room * 2 : ROOM_AT_FIRST;

    if (buffer->room - buffer->size < more) {
        if (more > SIZE_MAX / 4 - buffer->size)
            xalloc_die();
        if (room < buffer->size + more)
            room = buffer->size + more;
        buffer->bytes = xrealloc(buffer->bytes, room);
        buffer->room = room;
    }
    return buffer->size > 0 ? buffer->bytes + buffer->size : buffer->bytes;
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    memcpy(buffer_reserve(buffer, size), bytes, size);
    buffer->size += size;
}

void buffer_add_text(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

void buffer_clear(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){ 0 };
}
