/* sanitize.h - text from elsewhere, made safe for a terminal
 *
 * Printable text, valid UTF-8 and tab pass. Everything else that a terminal would act on is shown
 * as text: control characters as ^[, C1 controls as \u009b, bytes that are not UTF-8 as \xff.
 * Only in the output of ranks do colours pass (SGR: ESC [ ... m): names and messages have none,
 * and might hide what follows them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SANITIZE_H
#define MUSTER_SANITIZE_H

#include <stddef.h>

#include "buffer.h"

/* Appends a name or a message to out. columns: truncate the text if it would take more columns on
 * the screen; SANITIZE_ALL: never. */
#define SANITIZE_ALL ((size_t)-1)
void sanitize_add(struct buffer *out, const char *text, size_t size, size_t columns);

/* The same for the output of a rank. Each text is separate: a colour that is left on is switched
 * off at its end. */
void sanitize_add_output(struct buffer *out, const char *text, size_t size, size_t columns);

/* Return the same as a string; the caller frees it. */
char *sanitize_output(const char *text, size_t size);
char *sanitize_text(const char *text, size_t size);

/* Writes the end of bytes into text[size], as one line: a line break becomes " | ", other
 * control characters and bytes that are not UTF-8 become '?'. "..." precedes a text that was
 * truncated to fit. Drops empty lines and leading and trailing blanks. */
void sanitize_tail(const char *bytes, size_t count, char *text, size_t size);

#endif
