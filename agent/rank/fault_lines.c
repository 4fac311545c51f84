/* fault_lines.c - see fault_lines.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/fault_lines.h"

#include <string.h>

static void        add_part(struct fault_lines *lines, const char *bytes, size_t size);
static void        end_line(struct fault_lines *lines);
static const char *find_head(const char *line);
static bool        is_frame(const char *line);
static bool        begins(const char *line, const char *words);
static void        keep(struct fault_lines *lines, const char *line);

void fault_lines_add(struct fault_lines *lines, const char *bytes, size_t size)
{
    const char *newline;
    size_t      length;

    for (; size > 0 && !lines->is_full; bytes += length, size -= length) {
        newline = memchr(bytes, '\n', size);
        length = newline != NULL ? (size_t)(newline - bytes) + 1 : size;
        add_part(lines, bytes, newline != NULL ? length - 1 : length);
        if (newline != NULL)
            end_line(lines);
    }
}

/* Keeps the end of a line that is too long: there may be a bar without a newline before the first
 * of our lines. */
static void add_part(struct fault_lines *lines, const char *bytes, size_t size)
{
    const size_t room = sizeof lines->part - 1;
    size_t       stays;

    if (size > room) {
        lines->is_cut = true;
        bytes += size - room;
        size = room;
    }
    if (lines->part_size + size > room) {
        lines->is_cut = true;
        stays = room - size;
        memmove(lines->part, lines->part + lines->part_size - stays, stays);
        lines->part_size = stays;
    }
    memcpy(lines->part + lines->part_size, bytes, size);
    lines->part_size += size;
}

/* A terminal ends lines with "\r\n". A file that was emptied has NUL where the rank wrote before,
 * unless it appends. */
static void end_line(struct fault_lines *lines)
{
    const char *line = lines->part, *head, *hole;
    size_t      size = lines->part_size;

    if (size > 0 && lines->part[size - 1] == '\r')
        size--;
    lines->part[size] = '\0';
    hole = size > 0 ? memrchr(line, '\0', size) : NULL;
    if (hole != NULL)
        line = hole + 1;
    head = find_head(line);
    if (head != NULL)
        keep(lines, head);
    else if (lines->text.size > 0 && !lines->is_cut && is_frame(line))
        keep(lines, line);
    lines->part_size = 0;
    lines->is_cut = false;
}

/* Where does the head of a thread begin? There may be the start of a line of others before it. */
static const char *find_head(const char *line)
{
    static const char        end[] = "(most recent call first):";
    static const char *const heads[] = { "Current thread 0x", "Thread 0x",
                                         "Current thread's C stack trace (",
                                         "Stack (most" };
    const size_t             length = strlen(line);
    const char              *at = NULL;
    size_t                   i;

    if (length < sizeof end - 1 || strcmp(line + length - (sizeof end - 1), end) != 0)
        return NULL;
    for (i = 0; i < sizeof heads / sizeof *heads && at == NULL; i++)
        at = strstr(line, heads[i]);
    return at;
}

/* A traceback of Python has "line 3, in f"; faulthandler has "line 3 in f", or "???" for what it
 * does not know. From Python 3.14 on it shows the C stack, too. */
static bool is_frame(const char *line)
{
    const char *number;

    if (strcmp(line, "  ...") == 0 || strcmp(line, "...") == 0 || begins(line, "  <") ||
        begins(line, "  Binary file \""))
        return true;
    if (!begins(line, "  File "))
        return false;
    number = strstr(line, ", line ");
    while (number != NULL && strstr(number + 1, ", line ") != NULL)
        number = strstr(number + 1, ", line ");
    if (number == NULL)
        return false;
    number += strlen(", line ");
    number += strspn(number, "0123456789?");
    return begins(number, " in ");
}

static bool begins(const char *line, const char *words)
{
    return strncmp(line, words, strlen(words)) == 0;
}

static void keep(struct fault_lines *lines, const char *line)
{
    if (lines->text.size + strlen(line) + 1 > FAULT_LINES_MAX) {
        lines->is_full = true;
        return;
    }
    buffer_add_text(&lines->text, line);
    buffer_add_text(&lines->text, "\n");
}

void fault_lines_clear(struct fault_lines *lines)
{
    buffer_clear(&lines->text);
    *lines = (struct fault_lines){ 0 };
}
