/* ssh_advice.c - see ssh_advice.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/ssh_advice.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "xalloc.h"

#define ADVICE_BYTES 2000 /* longest text: one example says more than a longer one */

static const struct command {
    const char *name; /* with a trailing blank */
    bool        takes_many;
} commands[] = {
    { "ssh-keyscan ", true },
    { "ssh-copy-id ", false },
    { "ssh-keygen ", false },
};

static const struct command *command_before(const char *text, const char *at);
static size_t options_size(const char *args);
static bool   is_same(const struct strlist *gaps, size_t nodes, size_t number);
static void   add_commands(struct buffer *out, const struct command *command,
                           const struct strlist *gaps, size_t nodes, size_t number,
                           const char *tail, size_t tail_size);
static size_t add_targets(struct buffer *out, const struct strlist *gaps, size_t nodes,
                          size_t number, size_t first);
static bool   is_first(const struct strlist *gaps, size_t number, size_t node);
static bool   same_options(const char *args, const char *other);

size_t ssh_advice_args(const char *text, const char *at)
{
    size_t size;

    if (command_before(text, at) == NULL)
        return 0;
    size = options_size(at);
    if (at[size] == '\'')
        return size + 1 + strcspn(at + size + 1, "'") + (strchr(at + size + 1, '\'') != NULL);
    return size + strcspn(at + size, " ,;");
}

static const struct command *command_before(const char *text, const char *at)
{
    size_t i;

    for (i = 0; i < sizeof commands / sizeof *commands; i++) {
        size_t length = strlen(commands[i].name);

        if ((size_t)(at - text) >= length && strncmp(at - length, commands[i].name, length) == 0)
            return &commands[i];
    }
    return NULL;
}

/* Returns the size of "-p 22 " or "-R ", or 0. */
static size_t options_size(const char *args)
{
    size_t digits = strncmp(args, "-p ", 3) == 0 ? strspn(args + 3, "0123456789") : 0;

    if (strncmp(args, "-R ", 3) == 0)
        return 3;
    return digits > 0 && args[3 + digits] == ' ' ? 3 + digits + 1 : 0;
}

char *ssh_advice_fold(const char *key, const char *gap, const struct strlist *gaps, size_t nodes)
{
    struct buffer out = { 0 };
    const char   *at = key, *next;
    size_t        number, tail, i;

    for (i = 1; i < nodes; i++)
        if (gaps[i].count != gaps[0].count)
            return NULL; /* a node's text has an additional gap */
    for (number = 0; number < gaps[0].count; number++, at = next + strlen(gap) + tail) {
        const struct command *command;

        next = strstr(at, gap);
        command = next != NULL ? command_before(key, next) : NULL;
        tail = 0;
        if (next == NULL || (command == NULL && !is_same(gaps, nodes, number)) ||
            out.size > ADVICE_BYTES) {
            buffer_clear(&out);
            return NULL;
        }
        buffer_add(&out, at, (size_t)(next - at) - (command != NULL ? strlen(command->name) : 0));
        if (command == NULL) {
            buffer_add_text(&out, gaps[0].item[number]);
            continue;
        }
        tail = strcspn(next + strlen(gap), ",;");
        add_commands(&out, command, gaps, nodes, number, next + strlen(gap), tail);
    }
    buffer_add_text(&out, at);
    buffer_add(&out, "", 1);
    if (out.size > ADVICE_BYTES)
        buffer_clear(&out); /* this sets its bytes to NULL */
    return out.bytes;
}

static bool is_same(const struct strlist *gaps, size_t nodes, size_t number)
{
    size_t i;

    for (i = 1; i < nodes; i++)
        if (strcmp(gaps[i].item[number], gaps[0].item[number]) != 0)
            return false;
    return true;
}

/* Adds one command per port. */
static void add_commands(struct buffer *out, const struct command *command,
                         const struct strlist *gaps, size_t nodes, size_t number,
                         const char *tail, size_t tail_size)
{
    const char *between = "";
    size_t      i;

    for (i = 0; i < nodes; i++) {
        const char *args = gaps[i].item[number];
        struct buffer targets = { 0 };
        size_t        count;

        if (!is_first(gaps, number, i))
            continue;
        count = add_targets(&targets, gaps, nodes, number, i);
        buffer_add_text(out, between);
        if (count > 1 && !command->takes_many) {
            buffer_add_text(out, "for h in ");
            buffer_add(out, targets.bytes, targets.size);
            buffer_add_text(out, "; do ");
        }
        buffer_add_text(out, command->name);
        buffer_add(out, args, options_size(args));
        if (count > 1 && !command->takes_many)
            buffer_add_text(out, "\"$h\"");
        else
            buffer_add(out, targets.bytes, targets.size);
        buffer_add(out, tail, tail_size);
        buffer_add_text(out, count > 1 && !command->takes_many ? "; done" : "");
        between = "; ";
        buffer_clear(&targets);
    }
}

/* Adds the targets with the same options as first, and returns their number. */
static size_t add_targets(struct buffer *out, const struct strlist *gaps, size_t nodes,
                          size_t number, size_t first)
{
    const char *options = gaps[first].item[number];
    size_t      i, count = 0;

    for (i = first; i < nodes; i++) {
        const char *args = gaps[i].item[number];

        if (!same_options(args, options))
            continue;
        buffer_add_text(out, count++ > 0 ? " " : "");
        buffer_add_text(out, args + options_size(args));
    }
    return count;
}

static bool is_first(const struct strlist *gaps, size_t number, size_t node)
{
    size_t i;

    for (i = 0; i < node; i++)
        if (same_options(gaps[i].item[number], gaps[node].item[number]))
            return false;
    return true;
}

static bool same_options(const char *args, const char *other)
{
    size_t size = options_size(args);

    return size == options_size(other) && strncmp(args, other, size) == 0;
}
