/* table.c - see table.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "visible.h"
#include "xalloc.h"

#define GAP 2 /* blanks between two columns */

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
            if ((int)strlen(table->row[i][c]) > width[c])
                width[c] = (int)strlen(table->row[i][c]);
    for (i = 0; i < table->rows; i++) {
        for (c = 0; c < table->columns - 1; c++)
            fprintf(out, "%-*s", width[c] + GAP, table->row[i][c]);
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
    return visible_text(text, strlen(text));
}

char *table_age(long long seconds)
{
    if (seconds >= 2 * 86400)
        return xasprintf("%lld d", seconds / 86400);
    if (seconds >= 2 * 3600)
        return xasprintf("%lld h", seconds / 3600);
    return seconds >= 120 ? xasprintf("%lld min", seconds / 60) : xasprintf("%lld s", seconds);
}
