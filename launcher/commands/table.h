/* table.h - prints rows of texts in aligned columns
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TABLE_H
#define MUSTER_TABLE_H

#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 8

struct table {
    int columns; /* set by the caller */
    char *(*row)[TABLE_COLUMNS];
    size_t rows;
};

/* Adds a last row and returns it. The caller fills it with texts that are safe to print; the
 * table frees them. */
char **table_add(struct table *table);
void   table_head(struct table *table, const char *const *heads);
/* If out is a terminal, texts are truncated to its width. */
void   table_print(const struct table *table, FILE *out);
void   table_clear(struct table *table);

/* Make texts for a row: a node's text, made safe to print and truncated; an age, such as "59
 * s", "3 h", "12 d". */
char *table_text(const char *text);
char *table_age(long long seconds);

#endif
