/* fstab.c - see fstab.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/fstab.h"

#include <stdlib.h>
#include <string.h>

#include "bootstrap/block.h"
#include "buffer.h"

#define BLANKS " \t"

static size_t next_line(const char *text, bool *is_block);
static bool   is_for(const char *line, const char *place);
static char  *own_lines(const char *text, const char *place, const char *line);

char *fstab_put(const char *text, const char *place, const char *line, struct error *err)
{
    char         *lines = own_lines(text, place, line), *whole;
    struct buffer rest = { 0 };
    struct error  why;
    const char   *at;
    size_t        length;
    bool          is_block = false;

    for (at = text; *at != '\0'; at += length) {
        length = next_line(at, &is_block);
        if (is_block || !is_for(at, place))
            buffer_add(&rest, at, length);
    }
    buffer_add(&rest, "", 1);
    whole = block_put(rest.bytes, lines, &why);
    if (whole == NULL)
        err_set(err, FSTAB ": %s", why.text);
    buffer_clear(&rest);
    free(lines);
    return whole;
}

bool fstab_has(const char *text, const char *place)
{
    size_t length;
    bool   is_block = false;

    for (; *text != '\0'; text += length) {
        length = next_line(text, &is_block);
        if (!is_block && is_for(text, place))
            return true;
    }
    return false;
}

/* Returns the length of a line. is_block: whether the line before is in a block, and then this
 * one. Only the last line of a block begins with the block's end mark. */
static size_t next_line(const char *text, bool *is_block)
{
    size_t length = strcspn(text, "\n");

    *is_block = block_is_line(text, BLOCK_BEGIN) ||
                (*is_block && !block_is_line(text, BLOCK_END));
    return length + (text[length] == '\n');
}

/* Is place its second word? */
static bool is_for(const char *line, const char *place)
{
    size_t at = strspn(line, BLANKS);

    if (line[at] == '#')
        return false;
    at += strcspn(line + at, BLANKS "\n");
    at += strspn(line + at, BLANKS);
    return strncmp(line + at, place, strlen(place)) == 0 &&
           strchr(BLANKS "\n", line[at + strlen(place)]) != NULL;
}

/* Returns the new lines of the block: line replaces the old line for place, in the same
 * position so that a second apply finds no change; and the line for the other place. */
static char *own_lines(const char *text, const char *place, const char *line)
{
    struct buffer lines = { 0 };
    size_t        length;
    bool          is_block = false, is_shm = strcmp(place, FSTAB_SHM) == 0, is_put = false;

    for (; *text != '\0'; text += length) {
        length = next_line(text, &is_block);
        if (!is_block || text[0] == '#')
            continue;
        if (is_for(text, FSTAB_SHM) != is_shm)
            buffer_add(&lines, text, length);
        else if (!is_put)
            buffer_add_text(&lines, line);
        is_put = is_put || is_for(text, FSTAB_SHM) == is_shm;
    }
    if (!is_put)
        buffer_add_text(&lines, line);
    buffer_add(&lines, "", 1);
    return lines.bytes;
}
