/* buffer.h - a growing array of bytes
 *
 * Start from { 0 }. The caller must limit a buffer that could grow without bound.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BUFFER_H
#define MUSTER_BUFFER_H

#include <stddef.h>

struct buffer {
    char  *bytes;
    size_t size, room;
};

/* Makes room for this many more bytes; the caller writes there and adds to size. */
char *buffer_reserve(struct buffer *buffer, size_t more);
void  buffer_add(struct buffer *buffer, const void *bytes, size_t size);
void  buffer_add_text(struct buffer *buffer, const char *text);
void  buffer_clear(struct buffer *buffer); /* frees the bytes; the buffer is empty again */

#endif
