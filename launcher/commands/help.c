/* help.c - muster help: shows the manual page, or --help if there is none
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xalloc.h"

static void  open_page(const char *page);
static bool  has_page(const char *page);
static pid_t start(char *const argv[], int out);

int command_help(enum command topic)
{
    char *page = xasprintf("muster-%s", command_name(topic));

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

/* man -w prints where a page is. Its exit status is not enough: the man of a minimal system
 * prints an apology and exits with 0. */
static bool has_page(const char *page)
{
    char *argv[] = { (char *)"man", (char *)"-w", (char *)page, NULL };
    int   out[2];
    char  first = '\0';
    pid_t man;

    if (pipe2(out, O_CLOEXEC) < 0)
        return false;
    man = start(argv, out[1]);
    close(out[1]);
    if (man > 0 && read(out[0], &first, 1) < 0)
        first = '\0';
    close(out[0]);
    if (man > 0)
        waitpid(man, NULL, 0);
    return first == '/';
}

/* Starts argv with out as its standard output, and discards its stderr. */
static pid_t start(char *const argv[], int out)
{
    posix_spawn_file_actions_t actions;
    pid_t                      pid;
    int                        rc;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc == 0 ? pid : -1;
}
