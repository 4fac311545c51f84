/* table.c - see table.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/table.h"

#include <stdlib.h>
#include <string.h>

#include "sanitize.h"
#include "xalloc.h"

#define BLANKS          2    /* blanks between two columns */
#define WIDTH_MAX    40   /* a longer text does not make its column wider */
#define CELL_COLUMNS 300  /* shown of a text; the name of a file is shorter */
#define CELL_BYTES   2048 /* looked at for that, with colours */

char **table_add(struct table *table)
{
    table->row = xreallocarray(table->row, table->rows + 1, sizeof *table->row);
    memset(table->row[table->rows], 0, sizeof *table->row);
    return table->row[table->rows++];
}

void table_print(const struct table *table, FILE *out)
{
    int    width[TABLE_COLUMNS] = { 0 };
    size_t i;
    int    c;

    for (i = 0; i < table->rows; i++)
        for (c = 0; c < table->columns; c++)
            if ((int)strnlen(table->row[i][c], WIDTH_MAX) > width[c])
                width[c] = (int)strnlen(table->row[i][c], WIDTH_MAX);
    for (i = 0; i < table->rows; i++) {
        for (c = 0; c < table->columns - 1; c++)
            fprintf(out, "%-*s", width[c] + BLANKS, table->row[i][c]);
        fprintf(out, "%s\n", table->row[i][c]);
    }
}

void table_clear(struct table *table)
{
    size_t i;
    int    c;

    for (i = 0; i < table->rows; i++)
        for (c = 0; c < table->columns; c++)
            free(table->row[i][c]);
    free(table->row);
    *table = (struct table){ .columns = table->columns };
}

char *table_text(const char *text)
{
    struct buffer made = { 0 };

    sanitize_add(&made, text, strnlen(text, CELL_BYTES), CELL_COLUMNS);
    buffer_add(&made, "", 1);
    return made.bytes;
}

char *table_age(long long seconds)
{
    if (seconds >= 2 * 86400)
        return xasprintf("%lld d", seconds / 86400);
    if (seconds >= 2 * 3600)
        return xasprintf("%lld h", seconds / 3600);
    return seconds >= 120 ? xasprintf("%lld min", seconds / 60) : xasprintf("%lld s", seconds);
}
