/* table.h - rows of texts, printed with their columns one below the other
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TABLE_H
#define MUSTER_TABLE_H

#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 8

struct table {
    int columns; /* to be set */
    char *(*row)[TABLE_COLUMNS];
    size_t rows;
};

/* A new last row, to be filled with texts that are safe to print; the table frees them. */
char **table_add(struct table *table);
void   table_head(struct table *table, const char *const *heads);
/* If out is a terminal, texts are cut to its width. */
void   table_print(const struct table *table, FILE *out);
void   table_clear(struct table *table);

/* Both made for a row: a text of a node, made safe to print and not too long; an age, as "59 s",
 * "3 h", "12 d". */
char *table_text(const char *text);
char *table_age(long long seconds);

#endif
