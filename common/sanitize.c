/* sanitize.c - see sanitize.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "sanitize.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

#define SGR_MAX    64 /* longer than any colour that programs send */
#define TAB_STOP   8
#define GLYPH_MAX  8 /* bytes that show one character: \u009b */
#define COLOUR_OFF "\033[0m"
#define CUT        "..." /* before a truncated tail */
#define LINE       " | " /* in a tail, for a line break */

/* How the next character of a text is shown. */
struct glyph {
    size_t taken;   /* bytes of the text */
    size_t columns; /* on the screen */
    size_t size;    /* of shown; 0: the taken bytes themselves */
    char   shown[GLYPH_MAX];
};

static void   add(struct buffer *out, const char *text, size_t size, size_t columns,
                  bool has_colours);
static char  *text_of(const char *text, size_t size, bool has_colours);
static size_t plain(const char *text, size_t size, size_t columns);
static size_t colour(const char *text, size_t size, bool *is_on);
static void   next_glyph(const char *text, size_t size, size_t column,
                         struct glyph *glyph);
static size_t columns_of(uint32_t code);
static bool   is_space(char c);
static size_t shown_length(const char *bytes, size_t count);

void sanitize_add(struct buffer *out, const char *text, size_t size, size_t columns)
{
    add(out, text, size, columns, false);
}

void sanitize_add_output(struct buffer *out, const char *text, size_t size, size_t columns)
{
    add(out, text, size, columns, true);
}

static void add(struct buffer *out, const char *text, size_t size, size_t columns,
                bool has_colours)
{
    size_t       at = 0, column = 0, taken;
    struct glyph glyph;
    bool         is_on = false;

    while (at < size) {
        taken = plain(text + at, size - at, columns - column);
        column += taken;
        if (taken == 0 && has_colours)
            taken = colour(text + at, size - at, &is_on);
        if (taken > 0) {
            buffer_add(out, text + at, taken);
            at += taken;
            continue;
        }
        next_glyph(text + at, size - at, column, &glyph);
        if (glyph.columns > columns - column)
            break;
        buffer_add(out, glyph.size > 0 ? glyph.shown : text + at,
                   glyph.size > 0 ? glyph.size : glyph.taken);
        column += glyph.columns;
        at += glyph.taken;
    }
    if (is_on)
        buffer_add_text(out, COLOUR_OFF);
}

char *sanitize_text(const char *text, size_t size)
{
    return text_of(text, size, false);
}

char *sanitize_output(const char *text, size_t size)
{
    return text_of(text, size, true);
}

static char *text_of(const char *text, size_t size, bool has_colours)
{
    struct buffer made = { 0 };

    add(&made, text, size, SANITIZE_ALL, has_colours);
    buffer_add(&made, "", 1);
    return made.bytes;
}

/* Returns how many bytes are printable ASCII, as most text is; at most this many columns. */
static size_t plain(const char *text, size_t size, size_t columns)
{
    size_t n = 0;

    while (n < size && n < columns && text[n] >= 0x20 && text[n] < 0x7f)
        n++;
    return n;
}

/* Returns the size of the SGR sequence at text, 0 if there is none. */
static size_t colour(const char *text, size_t size, bool *is_on)
{
    size_t n = 2;

    if (size < 3 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (n < size && n < SGR_MAX &&
           ((text[n] >= '0' && text[n] <= '9') || text[n] == ';' || text[n] == ':'))
        n++;
    if (n == size || text[n] != 'm')
        return 0;
    *is_on = !(n == 2 || (n == 3 && text[2] == '0'));
    return n + 1;
}

static void next_glyph(const char *text, size_t size, size_t column, struct glyph *glyph)
{
    uint32_t code;
    int      n = 0;

    *glyph = (struct glyph){ .taken = utf8_decode(text, size, &code) };
    if (glyph->taken == 0) {
        n = snprintf(glyph->shown, sizeof glyph->shown, "\\x%02x", (unsigned char)text[0]);
        glyph->taken = 1;
    } else if (code == '\t') {
        glyph->columns = TAB_STOP - column % TAB_STOP;
    } else if (code < 0x20 || code == 0x7f) {
        n = snprintf(glyph->shown, sizeof glyph->shown, "^%c", (int)(code ^ 0x40));
    } else if (code >= 0x80 && code < 0xa0) {
        n = snprintf(glyph->shown, sizeof glyph->shown, "\\u%04x", (unsigned)code);
    } else {
        glyph->columns = columns_of(code);
    }
    if (n > 0)
        glyph->size = glyph->columns = (size_t)n;
}

/* A rough estimate, too wide rather than too narrow: a line that is truncated early does no
 * harm, but one that wraps cannot be erased. */
static size_t columns_of(uint32_t code)
{
    return (code >= 0x1100 && code < 0x1160) || code >= 0x2e80 ? 2 : 1;
}

/* ---- the end of a node's output, on one line ---- */

void sanitize_tail(const char *bytes, size_t count, char *text, size_t size)
{
    size_t at = 0, put = 0, length;
    bool   has_break = false;

    while (count > 0 && is_space(bytes[count - 1]))
        count--;
    /* A newline may take three bytes instead of one. Bytes that do not fit then are lost at the
     * end, so leave some room. */
    if (count > size / 2) {
        at = count - size / 2;
        while (at < count && ((unsigned char)bytes[at] & 0xc0) == 0x80)
            at++;
        memcpy(text, CUT, strlen(CUT));
        put = strlen(CUT);
    }
    while (at < count && is_space(bytes[at]))
        at++;
    while (at < count && put + strlen(LINE) + 4 < size) {
        if (bytes[at] == '\n' || bytes[at] == '\r') {
            has_break = true;
            at++;
            continue;
        }
        if (has_break) {
            memcpy(text + put, LINE, strlen(LINE));
            put += strlen(LINE);
            has_break = false;
        }
        length = shown_length(bytes + at, count - at);
        if (length == 0) {
            text[put++] = bytes[at] == '\t' ? ' ' : '?';
            at++;
            continue;
        }
        memcpy(text + put, bytes + at, length);
        put += length;
        at += length;
    }
    text[put] = '\0';
}

static bool is_space(char c)
{
    return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

/* Returns the length of the UTF-8 character at bytes if a terminal only displays it; 0 for
 * anything else, including C1 controls (U+0080 to U+009F). */
static size_t shown_length(const char *bytes, size_t count)
{
    uint32_t code;
    size_t   length = utf8_decode(bytes, count, &code);

    return length > 0 && code >= ' ' && (code < 0x7f || code >= 0xa0) ? length : 0;
}
