/* prompt_line.c - see prompt_line.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/prompt_line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

#define BLANKS " \t\r\f\v"

static char            *read_hosts(const char *text, size_t size);
static enum prompt_kind kind_of(const char *command);
static bool             is_only_cd(const char *command);

void prompt_line_read(const char *text, struct prompt_line *line)
{
    size_t size;

    *line = (struct prompt_line){ .command = "" };
    text += strspn(text, BLANKS);
    if (*text == '\0' || *text == '#')
        return;
    if (*text == '!') {
        line->kind = PROMPT_LOCAL;
        line->command = text + 1 + strspn(text + 1, BLANKS);
        return;
    }
    if (*text == '@') {
        size = strcspn(text + 1, BLANKS);
        line->hosts = read_hosts(text + 1, size);
        text += 1 + size;
        text += strspn(text, BLANKS);
        line->kind = PROMPT_CHOOSE;
        if (*text == '\0' || *text == '#')
            return;
    }
    line->kind = is_only_cd(text) ? PROMPT_CD : PROMPT_COMMAND;
    if (line->hosts == NULL && kind_of(text) != PROMPT_COMMAND)
        line->kind = kind_of(text);
    else
        line->command = text;
}

void prompt_line_clear(struct prompt_line *line)
{
    free(line->hosts);
    *line = (struct prompt_line){ .command = "" };
}

/* --include separates hosts by '@'. A comma does, too, unless it is in the brackets of a range or
 * between slots. */
static char *read_hosts(const char *text, size_t size)
{
    char *hosts = xstrndup(text, size), *at;
    bool  in_bracket = false, has_slots = false;

    for (at = hosts; *at != '\0'; at++) {
        in_bracket = *at == '[' || (in_bracket && *at != ']');
        if (*at == ',' && !in_bracket && !has_slots)
            *at = '@';
        has_slots = *at == ':' ? has_slots || !in_bracket : has_slots && *at != '@';
    }
    return hosts;
}

/* The prompt's own words are whole lines. */
static enum prompt_kind kind_of(const char *command)
{
    static const struct {
        const char      *word;
        enum prompt_kind kind;
    } words[] = {
        { "hosts", PROMPT_HOSTS }, { "help", PROMPT_HELP },
        { "exit", PROMPT_EXIT }, { "quit", PROMPT_EXIT },
    };
    size_t i, size = strcspn(command, BLANKS);

    if (command[size + strspn(command + size, BLANKS)] != '\0')
        return PROMPT_COMMAND;
    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == size && strncmp(command, words[i].word, size) == 0)
            return words[i].kind;
    return PROMPT_COMMAND;
}

/* Is there no other command in the line that the new directory could be for? */
static bool is_only_cd(const char *command)
{
    size_t size = strcspn(command, BLANKS);

    return size == 2 && strncmp(command, "cd", 2) == 0 && strpbrk(command, ";&|") == NULL;
}
