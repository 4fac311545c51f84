/* resume_line.c - see resume_line.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "history/resume_line.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "plan/environ.h"
#include "utf8.h"
#include "xalloc.h"

static void  add_names(const struct strlist *given, struct strlist *names);
static bool  are_kept(const struct options *options);
static bool  is_utf8(const char *text);
static char *list_lacking(const struct strlist *names, const char *after);

void resume_line_variables(const struct options *options, struct strlist *names)
{
    size_t i;

    add_names(&options->given, names);
    for (i = 0; i < options->roles; i++)
        add_names(&options->role[i].given, names);
}

/* given: words as saved_options.h makes them, one for each option. */
static void add_names(const struct strlist *given, struct strlist *names)
{
    static const char option[] = "--env=";
    const char       *name;
    size_t            i;

    for (i = 0; i < given->count; i++) {
        if (strncmp(given->item[i], option, strlen(option)) != 0)
            continue;
        name = given->item[i] + strlen(option);
        if (!strlist_has(names, name) && !environ_is_pattern(name) && !environ_is_left_out(name))
            strlist_add(names, name);
    }
}

char *resume_line(const char *id, const struct strlist *names)
{
    char *values = list_lacking(names, "=VALUE "), *line;

    line = xasprintf("%smuster resume %s", values, id);
    free(values);
    return line;
}

char *resume_line_advice(const struct options *options, const char *id, bool has_dir)
{
    struct strlist names = { 0 };
    char          *line, *advice;

    if (!has_dir)
        return xstrdup("muster resume cannot find this run, which has no directory: start a new "
                       "one");
    if (strcmp(options->hostfile, "-") == 0)
        return xstrdup("muster resume cannot read its hostfile, which was standard input: start a "
                       "new run");
    if (!are_kept(options))
        return xstrdup("muster resume cannot repeat its arguments, which are not UTF-8: start a "
                       "new run");
    resume_line_variables(options, &names);
    line = resume_line(id, &names);
    advice = xasprintf("%s starts the run again", line);
    free(line);
    strlist_clear(&names);
    return advice;
}

/* As in plan.json (run_dir.c). */
static bool are_kept(const struct options *options)
{
    size_t i;

    for (i = 0; i < options->args.count; i++)
        if (!is_utf8(options->args.item[i]))
            return false;
    for (i = 0; i < options->given.count; i++)
        if (!is_utf8(options->given.item[i]))
            return false;
    return options->script == NULL || is_utf8(options->script);
}

static bool is_utf8(const char *text)
{
    uint32_t code;
    size_t   left = strlen(text), size;

    for (; left > 0; text += size, left -= size)
        if ((size = utf8_decode(text, left, &code)) == 0)
            return false;
    return true;
}

char *resume_line_lacks(const struct strlist *names)
{
    char  *list = list_lacking(names, " ");
    size_t size = strlen(list);

    if (size > 0) {
        list[size - 1] = '\0';
        return list;
    }
    free(list);
    return NULL;
}

/* Returns each name that is not set here, with after behind it. */
static char *list_lacking(const struct strlist *names, const char *after)
{
    struct buffer list = { 0 };
    size_t        i;

    for (i = 0; i < names->count; i++) {
        if (getenv(names->item[i]) != NULL)
            continue;
        buffer_add_text(&list, names->item[i]);
        buffer_add_text(&list, after);
    }
    buffer_add(&list, "", 1);
    return list.bytes;
}
