/* sanitize.h - text from elsewhere, made safe for a terminal
 *
 * Printable text, valid UTF-8, tab and colours (SGR: ESC [ ... m) pass. Everything else that a
 * terminal would act on is shown as text: control characters as ^[, C1 controls as \u009b,
 * bytes that are not UTF-8 as \xff. Each text is separate: a colour that is left on is switched
 * off at its end.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SANITIZE_H
#define MUSTER_SANITIZE_H

#include <stddef.h>

#include "buffer.h"

/* Append text to out. columns: cut the text off if it would take more columns on the screen;
 * SANITIZE_ALL: never. */
#define SANITIZE_ALL ((size_t)-1)
void sanitize_add(struct buffer *out, const char *text, size_t size, size_t columns);

/* The same as a string; caller frees. */
char *sanitize_text(const char *text, size_t size);

/* The end of bytes into text[size], as one line: a line break becomes " | ", other control
 * characters and bytes that are not UTF-8 become '?'. "..." precedes a text that was cut to
 * fit. Empty lines and leading and trailing blanks are dropped. */
void sanitize_tail(const char *bytes, size_t count, char *text, size_t size);

#endif
