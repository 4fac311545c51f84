/* printable.h - bytes that came from a node, as text that is safe to print
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PRINTABLE_H
#define MUSTER_PRINTABLE_H

#include <stddef.h>

/* The end of bytes into text, as one line: newlines become " | ", other
 * control characters '?', what is not UTF-8 '?'; "..." in front when it was
 * cut to fit. Blank lines and blanks at both ends go. */
void printable_tail(const char *bytes, size_t count, char *text, size_t size);

#endif
