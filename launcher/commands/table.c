/* table.c - see table.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "sanitize.h"
#include "xalloc.h"

#define BLANKS       2    /* between two columns */
#define WIDTH_MAX    40   /* a longer text does not make its column wider */
#define CELL_COLUMNS 300  /* columns shown of a text; a file name is shorter */
#define CELL_BYTES   2048 /* bytes read for them, including colours */
#define LAST_LEAST   8    /* columns of the last text, even if the terminal is too narrow */

static size_t columns_of(FILE *out);
static void   fit(const struct table *table, size_t room, size_t width[TABLE_COLUMNS]);
static void   print_cell(const char *text, size_t width, size_t room, FILE *out);

char **table_add(struct table *table)
{
    table->row = xreallocarray(table->row, table->rows + 1, sizeof *table->row);
    memset(table->row[table->rows], 0, sizeof *table->row);
    return table->row[table->rows++];
}

void table_head(struct table *table, const char *const *heads)
{
    char **row = table_add(table);
    int    c;

    for (c = 0; c < table->columns; c++)
        row[c] = xstrdup(heads[c]);
}

void table_print(const struct table *table, FILE *out)
{
    size_t width[TABLE_COLUMNS], room = columns_of(out), i;
    int    c;

    fit(table, room, width);
    for (i = 0; i < table->rows; i++) {
        for (c = 0; c < table->columns - 1; c++)
            print_cell(table->row[i][c], width[c] + BLANKS, room > 0 ? width[c] : 0, out);
        print_cell(table->row[i][c], 0, width[c], out);
        fputc('\n', out);
    }
}

/* Computes the width of each column; 0 for the last one: no limit. If the last one lacks room,
 * the widest columns shrink. */
static void fit(const struct table *table, size_t room, size_t width[TABLE_COLUMNS])
{
    size_t used = 0, i, length;
    int    c, widest = 0, last = table->columns - 1;

    memset(width, 0, TABLE_COLUMNS * sizeof *width);
    for (c = 0; c < last; c++) {
        for (i = 0; i < table->rows; i++) {
            length = strnlen(table->row[i][c], WIDTH_MAX);
            width[c] = length > width[c] ? length : width[c];
        }
        widest = width[c] > width[widest] ? c : widest;
        used += width[c] + BLANKS;
    }
    while (room > 0 && used + LAST_LEAST > room && width[widest] > LAST_LEAST) {
        width[widest]--;
        used--;
        for (c = 0; c < last; c++)
            widest = width[c] > width[widest] ? c : widest;
    }
    width[last] = room > used ? room - used : room > 0 ? LAST_LEAST : 0;
}

/* Returns the columns of a terminal; 0: out is a file, so there is no limit. */
static size_t columns_of(FILE *out)
{
    return fd_columns(fileno(out) >= 0 ? fileno(out) : STDOUT_FILENO); /* not a file */
}

/* Prints text in at least width columns, and in at most room columns unless room is 0. */
static void print_cell(const char *text, size_t width, size_t room, FILE *out)
{
    struct buffer cut = { 0 };

    sanitize_add(&cut, text, strlen(text), room > 0 ? room : SANITIZE_ALL);
    while (cut.size > 0 && cut.bytes[cut.size - 1] == ' ')
        cut.size--;
    buffer_add(&cut, "", 1);
    fprintf(out, "%-*s", (int)width, cut.bytes);
    buffer_clear(&cut);
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
