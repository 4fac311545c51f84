/* wrap.h - wraps a long text in the last column of a table
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WRAP_H
#define MUSTER_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* Prints text, made safe, as the rest of a line, from column indent on. On a terminal with
 * columns (0: no terminal), more lines begin at the same column; the terminal itself breaks a
 * word that is too long. */
void wrap_print(const char *text, size_t indent, size_t columns, FILE *out);

#endif
