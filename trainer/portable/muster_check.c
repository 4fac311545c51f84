/* muster_check.c - muster-check: starts the check on a node that lacks its libraries
 *
 * muster check sends a directory to the nodes, with muster-train-check and the libraries that it
 * has here (trainer/Makefile.am makes it):
 *
 *     muster-check          this program, static
 *     muster-train-check    finds lib/ without help, and its plugins beside it
 *     lib/                  its libraries, without libc
 *     libc/, ld.so          libc
 *
 * NCCL and the driver of the GPUs are the node's, and may need a libc and a libstdc++ that are
 * newer than ours; ours may need ones that are newer than the node's. One process has one of each.
 * So this program tries to load all, the node's first, before it starts the check.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/check.h"

enum way { WAY_OUR_LIBC = 1, WAY_OUR_LIBSTDCXX = 2, WAYS = 4 };

#define WORDS 6 /* that a command has besides argv */

static char   dir[PATH_MAX];
static char **words; /* of a command */

static int   find_dir(void);
static bool  loads(enum way way, int argc, char **argv);
static void  set_words(enum way way, bool is_try, int argc, char **argv);
static char *text(const char *before, const char *after);

int main(int argc, char **argv)
{
    int way = 0;

    words = calloc((size_t)argc + WORDS, sizeof *words);
    if (words == NULL || find_dir() < 0)
        return CHECK_BACKEND;
    while (way < WAYS - 1 && !loads((enum way)way, argc, argv))
        way++; /* the last one shows what is wrong */
    set_words((enum way)way, false, argc, argv);
    execv(words[0], words);
    fprintf(stderr, "muster-check: cannot execute %s: %s\n", words[0], strerror(errno));
    return CHECK_BACKEND;
}

static int find_dir(void)
{
    ssize_t size = readlink("/proc/self/exe", dir, sizeof dir - 1);

    if (size <= 0) {
        fprintf(stderr, "muster-check: /proc/self/exe: %s\n", strerror(errno));
        return -1;
    }
    dir[size] = '\0';
    *strrchr(dir, '/') = '\0';
    return 0;
}

static bool loads(enum way way, int argc, char **argv)
{
    posix_spawn_file_actions_t quiet;
    pid_t                      pid;
    int                        status = -1, rc;

    set_words(way, true, argc, argv);
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = posix_spawn(&pid, words[0], &quiet, NULL, words, environ);
    posix_spawn_file_actions_destroy(&quiet);
    while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* This short program does not free them. See ld.so(8) for its option, which takes the place of the
 * variable. */
static void set_words(enum way way, bool is_try, int argc, char **argv)
{
    static char option[] = "--library-path", gloo_first[] = "--gloo-first", try[] = "--try";
    const char *others = getenv("LD_LIBRARY_PATH");
    int         count = 0;

    if (way & WAY_OUR_LIBC) {
        words[count++] = text("/ld.so", "");
        words[count++] = option;
        words[count++] = others != NULL ? text("/libc:", others) : text("/libc", "");
    }
    words[count++] = text("/muster-train-check", "");
    if (way & WAY_OUR_LIBSTDCXX)
        words[count++] = gloo_first;
    if (is_try)
        words[count++] = try;
    memcpy(words + count, argv + 1, (size_t)argc * sizeof *argv); /* with the NULL */
}

/* Returns a path below dir, and what follows it. */
static char *text(const char *before, const char *after)
{
    char *made;

    if (asprintf(&made, "%s%s%s", dir, before, after) < 0)
        abort();
    return made;
}
