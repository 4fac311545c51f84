/* json_text.c - see json_text.h
 *
 * Comments and last commas become blanks, so that jansson's line numbers are right. jansson
 * does not keep the lines of keys, so a second pass over the text notes them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ds/json_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

struct json_key {
    const char *name;
    size_t      length;
    size_t      parent; /* the key whose value holds this one; NO_PARENT: the root */
    int         line;
};
#define NO_PARENT ((size_t)-1)

static int         blank_extras(char *text, size_t size, const char *name, struct error *err);
static const char *string_end(const char *at, const char *end);
static char       *comment_end(char *at, char *end);
static void        blank(char *from, const char *to);
static void        blank_last_comma(char *text, char *at);
static int         load(struct json_text *json, const char *name, size_t size,
                        struct error *err);
static int         line_of(const char *text, const char *at);
static void        note_keys(struct json_text *json, size_t size);
static size_t      note_key(struct json_text *json, const char *name, size_t parent, int line);
static const char *skip_blanks(const char *at, const char *end, int *line);

int json_text_parse(struct json_text *json, const char *name, const char *text, size_t size,
                    struct error *err)
{
    *json = (struct json_text){ .text = xmalloc(size + 1) };
    memcpy(json->text, text, size);
    json->text[size] = '\0';
    if (blank_extras(json->text, size, name, err) < 0 || load(json, name, size, err) < 0)
        return -1;
    note_keys(json, size);
    return 0;
}

void json_text_clear(struct json_text *json)
{
    json_decref(json->root);
    free(json->text);
    free(json->key);
    *json = (struct json_text){ 0 };
}

static int blank_extras(char *text, size_t size, const char *name, struct error *err)
{
    char *at = text, *end = text + size, *after;

    while (at < end) {
        if (*at == '"') {
            at += string_end(at, end) - at;
        } else if ((after = comment_end(at, end)) != at) {
            if (after == NULL)
                return err_set(err, "%s:%d: the comment has no end", name, line_of(text, at));
            blank(at, after);
            at = after;
        } else {
            if (*at == '}' || *at == ']')
                blank_last_comma(text, at);
            at++;
        }
    }
    return 0;
}

/* Returns the position after the closing quote, or end if there is none. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : at;
}

/* Returns the position after the comment that begins here; at if none does; NULL: the comment
 * has no end. */
static char *comment_end(char *at, char *end)
{
    const char *close;
    char       *newline;
    const bool  slash = *at == '/' && at + 1 < end;

    if (slash && at[1] == '*') {
        close = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
        return close == NULL ? NULL : at + (close - at) + 2;
    }
    if (*at != '#' && !(slash && at[1] == '/'))
        return at;
    newline = memchr(at, '\n', (size_t)(end - at));
    return newline == NULL ? end : newline;
}

static void blank(char *from, const char *to)
{
    for (; from < to; from++)
        if (*from != '\n')
            *from = ' ';
}

/* Blanks a comma before the bracket: only blanks, some of which were comments, are between the
 * two. Leaves "{,}" for jansson to refuse. */
static void blank_last_comma(char *text, char *at)
{
    char *comma = NULL;

    while (at > text && strchr(" \t\r\n,", at[-1]) != NULL && at[-1] != '\0') {
        at--;
        if (*at != ',')
            continue;
        if (comma != NULL)
            return;
        comma = at;
    }
    if (comma != NULL && at > text && at[-1] != '{' && at[-1] != '[')
        *comma = ' ';
}

static int load(struct json_text *json, const char *name, size_t size, struct error *err)
{
    json_error_t why;

    json->root = json_loadb(json->text, size, JSON_REJECT_DUPLICATES, &why);
    if (json->root == NULL)
        return err_set(err, "%s:%d: %s", name, why.line > 0 ? why.line : 1, why.text);
    if (!json_is_object(json->root))
        return err_set(err, "%s: the outermost value is not an object", name);
    return 0;
}

static int line_of(const char *text, const char *at)
{
    int line = 1;

    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

/* The text is known to be valid: a string before a colon is a key, and the keys in its value
 * are those up to the closing brace. */
static void note_keys(struct json_text *json, size_t size)
{
    const char *at = json->text, *end = at + size, *name;
    size_t     *open = NULL, depth = 0, room = 0, last = NO_PARENT;
    int         line = 1, name_line;

    while ((at = skip_blanks(at, end, &line)) < end) {
        if (*at == '"') {
            name = at + 1;
            name_line = line;
            at = string_end(at, end);
            at = skip_blanks(at, end, &line);
            if (at < end && *at == ':')
                last = note_key(json, name, depth > 0 ? open[depth - 1] : NO_PARENT, name_line);
            continue;
        }
        if (*at == '{' || *at == '[') {
            if (depth == room)
                open = xreallocarray(open, room = room * 2 + 8, sizeof *open);
            open[depth++] = last;
        } else if ((*at == '}' || *at == ']') && depth > 0) {
            last = open[--depth];
        }
        at++;
    }
    free(open);
}

/* No caller asks for a key with a backslash. */
static size_t note_key(struct json_text *json, const char *name, size_t parent, int line)
{
    if (json->keys == json->room) {
        json->room = json->room * 2 + 32;
        json->key = xreallocarray(json->key, json->room, sizeof *json->key);
    }
    json->key[json->keys] = (struct json_key){ name, strcspn(name, "\"\\"), parent, line };
    return json->keys++;
}

static const char *skip_blanks(const char *at, const char *end, int *line)
{
    for (; at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'); at++)
        *line += *at == '\n';
    return at;
}

int json_text_line(const struct json_text *json, const char *path)
{
    size_t i, length, parent = NO_PARENT;

    for (i = 0; i < json->keys; i++) {
        length = strcspn(path, ".");
        if (json->key[i].parent != parent || json->key[i].length != length ||
            strncmp(json->key[i].name, path, length) != 0)
            continue;
        if (path[length] == '\0')
            return json->key[i].line;
        parent = i; /* the keys in its value follow */
        path += length + 1;
    }
    return 0;
}
