/* lines.c - see lines.h
 *
 * Of an element of an array only its end is looked for: the brackets that are outside of strings.
 * So one that is not JSON inside is no reason to lose those that follow.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "chat/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "xalloc.h"

#define CHUNK ((size_t)256 << 10)
#define END   (-1) /* of the file, or it cannot be read */

enum place {
    AT_START,
    IN_LINES,
    BEFORE_FIRST,  /* of an array */
    AFTER_ELEMENT,
    AT_END,
};

struct lines {
    char         *path;
    int           fd, error;  /* errno of a failed read, or 0 */
    char         *chunk;
    size_t        at, filled; /* in chunk */
    uint64_t      number;     /* of the line that is being read */
    enum place    place;
    struct buffer record;
    bool          is_long;    /* the record is longer than LINES_RECORD_MAX, and was not kept */
};

/* Where in an element the next byte is. */
struct scan {
    bool   in_string, is_escaped;
    size_t depth; /* brackets */
};

static enum lines_result start(struct lines *lines);
static enum lines_result next_line(struct lines *lines, struct line *line, struct error *err);
static enum lines_result next_element(struct lines *lines, struct line *line,
                                      struct error *err);
static bool take_element(struct lines *lines, struct error *err);
static bool scan_byte(struct scan *scan, char byte);
static enum lines_result end_array(struct lines *lines, struct error *err);
static enum lines_result hand_out(struct lines *lines, struct line *line, struct error *err);
static enum lines_result failed(struct lines *lines, const char *why, struct error *err);
static void keep(struct lines *lines, const char *bytes, size_t size);
static bool fill(struct lines *lines);
static int  look(struct lines *lines);
static int  skip_white(struct lines *lines);
static bool is_white(int byte);

struct lines *lines_open(const char *path, struct error *err)
{
    struct lines *lines;
    struct stat   is;
    int           fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* no wait for a pipe */

    if (fd < 0 || fstat(fd, &is) < 0) {
        err_set(err, "%s: %s", path, strerror(errno));
        goto failed;
    }
    if (!S_ISREG(is.st_mode)) {
        err_set(err, "%s: not a regular file", path);
        goto failed;
    }
    lines = xcalloc(1, sizeof *lines);
    lines->path = xstrdup(path);
    lines->fd = fd;
    lines->chunk = xmalloc(CHUNK);
    lines->number = 1;
    return lines;
failed:
    if (fd >= 0)
        close(fd);
    return NULL;
}

void lines_close(struct lines *lines)
{
    if (lines == NULL)
        return;
    close(lines->fd);
    buffer_clear(&lines->record);
    free(lines->chunk);
    free(lines->path);
    free(lines);
}

enum lines_result lines_next(struct lines *lines, struct line *line, struct error *err)
{
    lines->record.size = 0;
    lines->is_long = false;
    if (lines->place == AT_START && start(lines) == LINES_FAILED)
        return failed(lines, NULL, err);
    if (lines->place == AT_END)
        return LINES_END;
    return lines->place == IN_LINES ? next_line(lines, line, err)
                                    : next_element(lines, line, err);
}

static enum lines_result start(struct lines *lines)
{
    if (look(lines) == 0xEF && lines->filled >= 3 && memcmp(lines->chunk, "\xEF\xBB\xBF", 3) == 0)
        lines->at = 3;
    if (skip_white(lines) != '[') {
        lines->place = IN_LINES;
    } else {
        lines->at++;
        lines->place = BEFORE_FIRST;
    }
    return lines->error != 0 ? LINES_FAILED : LINES_RECORD;
}

static enum lines_result next_line(struct lines *lines, struct line *line, struct error *err)
{
    const char *end;
    size_t      left;

    if (skip_white(lines) == END) {
        lines->place = AT_END;
        return lines->error != 0 ? failed(lines, NULL, err) : LINES_END;
    }
    line->number = lines->number;
    do {
        left = lines->filled - lines->at;
        end = memchr(lines->chunk + lines->at, '\n', left);
        if (end != NULL)
            left = (size_t)(end - lines->chunk) - lines->at;
        keep(lines, lines->chunk + lines->at, left);
        lines->at += left;
    } while (end == NULL && look(lines) != END);
    return lines->error != 0 ? failed(lines, NULL, err) : hand_out(lines, line, err);
}

static enum lines_result next_element(struct lines *lines, struct line *line, struct error *err)
{
    int byte = skip_white(lines);

    if (byte == ']')
        return end_array(lines, err);
    if (lines->place == AFTER_ELEMENT) {
        if (byte != ',')
            return failed(lines, byte == END ? "the array has no end: ']' is missing"
                                             : "',' or ']' was expected", err);
        lines->at++;
        byte = skip_white(lines);
    }
    if (byte == ',' || byte == ']' || byte == '}')
        return failed(lines, "a record was expected", err);
    line->number = lines->number;
    if (!take_element(lines, err))
        return LINES_FAILED;
    lines->place = AFTER_ELEMENT;
    return hand_out(lines, line, err);
}

/* Reads up to the comma or bracket that follows the element. */
static bool take_element(struct lines *lines, struct error *err)
{
    struct scan scan = { 0 };
    size_t      from;
    bool        is_over = false;

    while (!is_over && look(lines) != END) {
        from = lines->at;
        while (lines->at < lines->filled) {
            is_over = scan_byte(&scan, lines->chunk[lines->at]);
            if (is_over)
                break;
            lines->number += lines->chunk[lines->at++] == '\n';
        }
        keep(lines, lines->chunk + from, lines->at - from);
    }
    if (!is_over)
        failed(lines, "the array has no end: ']' is missing", err);
    return is_over;
}

/* Does the element end before this byte? */
static bool scan_byte(struct scan *scan, char byte)
{
    if (scan->is_escaped) {
        scan->is_escaped = false;
    } else if (scan->in_string) {
        scan->is_escaped = byte == '\\';
        scan->in_string = byte != '"';
    } else if (byte == '"') {
        scan->in_string = true;
    } else if (byte == '{' || byte == '[') {
        scan->depth++;
    } else if (scan->depth == 0 && (byte == ',' || byte == ']' || byte == '}')) {
        return true;
    } else if (byte == '}' || byte == ']') {
        scan->depth--;
    }
    return false;
}

static enum lines_result end_array(struct lines *lines, struct error *err)
{
    lines->at++;
    if (skip_white(lines) != END)
        return failed(lines, "the file continues after its array", err);
    lines->place = AT_END;
    return lines->error != 0 ? failed(lines, NULL, err) : LINES_END;
}

static enum lines_result hand_out(struct lines *lines, struct line *line, struct error *err)
{
    if (lines->is_long) {
        err_set(err, "%s:%" PRIu64 ": longer than %zu MiB", lines->path, line->number,
                LINES_RECORD_MAX >> 20);
        return LINES_BROKEN;
    }
    line->text = lines->record.bytes;
    line->size = lines->record.size;
    while (line->size > 0 && is_white(line->text[line->size - 1]))
        line->size--;
    return LINES_RECORD;
}

/* why: NULL, or what is wrong with the file, if it could be read. */
static enum lines_result failed(struct lines *lines, const char *why, struct error *err)
{
    lines->place = AT_END;
    err_set(err, "%s:%" PRIu64 ": %s", lines->path, lines->number,
            lines->error != 0 || why == NULL ? strerror(lines->error) : why);
    return LINES_FAILED;
}

static void keep(struct lines *lines, const char *bytes, size_t size)
{
    if (lines->is_long || size > LINES_RECORD_MAX - lines->record.size) {
        lines->is_long = true;
        return;
    }
    buffer_add(&lines->record, bytes, size);
}

/* Reads on if the chunk is used up. Is there a byte? */
static bool fill(struct lines *lines)
{
    ssize_t count;

    if (lines->at < lines->filled)
        return true;
    do
        count = read(lines->fd, lines->chunk, CHUNK);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        lines->error = errno;
    lines->at = 0;
    lines->filled = count > 0 ? (size_t)count : 0;
    return count > 0;
}

static int look(struct lines *lines)
{
    return fill(lines) ? (unsigned char)lines->chunk[lines->at] : END;
}

/* Returns the next byte that is no white space, which stays where it is. */
static int skip_white(struct lines *lines)
{
    int byte;

    for (; is_white(byte = look(lines)); lines->at++)
        lines->number += byte == '\n';
    return byte;
}

static bool is_white(int byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}
