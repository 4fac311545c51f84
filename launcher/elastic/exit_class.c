/* exit_class.c - see exit_class.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/exit_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "xalloc.h"

#define CODE_OF_KILL 137

/* The last class has all other codes. */
static const struct exit_class classes[] = {
    /* name       codes          restarts from outside */
    { "usage",    "2,64-66,78",  false, false }, /* from argparse; EX_USAGE and related codes */
    { "missing",  "126-127",     false, false }, /* no such program, or not executable */
    { "memory",   "247",         false, false }, /* and the kernel's OOM killer */
    { "fatal",    "1,134",       true,  false }, /* an exception, abort() */
    { "killed",   "137,143",     true,  true },  /* KILL, TERM */
    { "hardware", "14,201-202",  true,  true },
    { "other",    "",            true,  false },
};

#define CLASSES (sizeof classes / sizeof *classes)
#define MEMORY  2

static int  add_word(char *word, struct restart_on *on, struct error *err);
static void add_class(const struct exit_class *class, struct restart_on *on);
static int  add_codes(char *word, struct restart_on *on, struct error *err);
static bool has_code(const char *codes, int code);

const struct exit_class *exit_class_of(int code, bool out_of_memory)
{
    size_t i;

    if (out_of_memory)
        return &classes[MEMORY];
    for (i = 0; i < CLASSES - 1; i++)
        if (has_code(classes[i].codes, code))
            return &classes[i];
    return &classes[CLASSES - 1];
}

int restart_on_parse(const char *text, struct restart_on *on, struct error *err)
{
    char  *copy = xstrdup(text != NULL ? text : ""), *rest = copy, *word;
    size_t i;
    int    rc = 0;

    *on = (struct restart_on){ 0 };
    for (i = 0; text == NULL && i < CLASSES; i++)
        if (classes[i].restarts)
            add_class(&classes[i], on);
    while (text != NULL && rc == 0 && (word = strsep(&rest, ",")) != NULL)
        rc = add_word(word, on, err);
    free(copy);
    return rc;
}

bool restart_on_has(const struct restart_on *on, int code, bool out_of_memory)
{
    return out_of_memory ? on->out_of_memory : code > 0 && code < EXIT_CODES && on->code[code];
}

static int add_word(char *word, struct restart_on *on, struct error *err)
{
    size_t i;

    for (i = 0; i < CLASSES; i++) {
        if (strcmp(word, classes[i].name) == 0) {
            add_class(&classes[i], on);
            return 0;
        }
    }
    return add_codes(word, on, err);
}

static void add_class(const struct exit_class *class, struct restart_on *on)
{
    int code;

    for (code = 1; code < EXIT_CODES; code++)
        if (exit_class_of(code, false) == class)
            on->code[code] = true;
    if (class == &classes[MEMORY])
        on->out_of_memory = true;
}

/* "3" or "3-5". */
static int add_codes(char *word, struct restart_on *on, struct error *err)
{
    char   *dash = strchr(word, '-');
    int64_t first, last, code;
    char    shown[40];

    snprintf(shown, sizeof shown, "%s", word);
    if (dash != NULL)
        *dash++ = '\0';
    if (parse_number(word, 1, EXIT_CODES - 1, &first, err) < 0 ||
        (dash != NULL && parse_number(dash, first, EXIT_CODES - 1, &last, err) < 0))
        return err_set(err, "'%s' is neither an exit code from 1 to %d nor a class (usage, "
                       "missing, memory, fatal, killed, hardware, other)", shown, EXIT_CODES - 1);
    for (code = first; code <= (dash != NULL ? last : first); code++) {
        on->code[code] = true;
        if (code == CODE_OF_KILL)
            on->out_of_memory = true;
    }
    return 0;
}

/* codes: from our own table, so it is well-formed. */
static bool has_code(const char *codes, int code)
{
    char *end;
    long  first, last;

    while (*codes != '\0') {
        first = last = strtol(codes, &end, 10);
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (code >= first && code <= last)
            return true;
        codes = end + (*end == ',');
    }
    return false;
}
