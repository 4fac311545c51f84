/* wrap.h - a long text in the last column of a table
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WRAP_H
#define MUSTER_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* Print text, made safe, as the rest of a line that has come to column indent. On a terminal of
 * that many columns (0: none) it goes on below, in the same column; a word longer than that is left
 * to the terminal. */
void wrap_print(const char *text, size_t indent, size_t columns, FILE *out);

#endif
