/* help.c - muster help: the manual page, or --help where there is none
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xalloc.h"

static void open_page(const char *page);
static bool has_page(const char *page);

int command_help(enum command topic)
{
    char *page = xasprintf("muster-%s", command_names[topic]);

    if (isatty(STDOUT_FILENO)) {
        if (topic != COMMAND_HELP)
            open_page(page);
        open_page("muster");
    }
    free(page);
    options_help(topic, stdout);
    return 0;
}

/* Does not return, unless there is no such page. */
static void open_page(const char *page)
{
    if (has_page(page))
        execlp("man", "man", page, NULL);
}

/* man -w prints where a page is. Its exit status would not do: the man of a minimal system
 * prints an apology and exits with 0. */
static bool has_page(const char *page)
{
    char *command = xasprintf("man -w %s 2>/dev/null", page);
    FILE *man = popen(command, "re");
    int   first = man != NULL ? getc(man) : EOF;

    if (man != NULL)
        pclose(man);
    free(command);
    return first == '/';
}
