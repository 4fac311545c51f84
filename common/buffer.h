/* buffer.h - a growing array of bytes
 *
 * Start from { 0 }. The caller must bound what could grow without limit.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BUFFER_H
#define MUSTER_BUFFER_H

#include <stddef.h>

struct buffer {
    char  *bytes;
    size_t size, room;
};

/* Make room for that many more bytes; the caller writes there and adds to size. */
char *buffer_reserve(struct buffer *buffer, size_t more);
void  buffer_add(struct buffer *buffer, const void *bytes, size_t size);
void  buffer_add_text(struct buffer *buffer, const char *text);
void  buffer_clear(struct buffer *buffer); /* free the bytes; empty again */

#endif
