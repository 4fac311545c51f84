/* muster_check.c - muster-check: starts the check on a node that lacks its libraries
 *
 * muster check sends a directory to the nodes, with muster-train-check and the libraries that it
 * has here (trainer/Makefile.am makes it):
 *
 *     muster-check          this program, static
 *     muster-train-check    finds lib/ by itself, its plugins beside it
 *     lib/                  its libraries, without those of libc
 *     libc/, ld.so          libc
 *
 * The node's own libc takes precedence: NCCL and the driver of the GPUs, which are the node's, may
 * need one that is newer than ours. A node whose libc is older than ours, or is another one, uses
 * ours.
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

static char dir[PATH_MAX], program[PATH_MAX + 32];

static int  find_dir(void);
static bool has_fitting_libc(char **env);
static void exec_with_our_libc(int argc, char **argv);

int main(int argc, char **argv)
{
    if (find_dir() < 0)
        return CHECK_BACKEND;
    snprintf(program, sizeof program, "%s/muster-train-check", dir);
    if (has_fitting_libc(environ))
        execv(program, argv);
    else
        exec_with_our_libc(argc, argv);
    fprintf(stderr, "muster-check: cannot start %s: %s\n", program, strerror(errno));
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

/* Does the check load with the libc that it finds here? */
static bool has_fitting_libc(char **env)
{
    static char                try[] = "--try";
    char                      *argv[] = { program, try, NULL };
    posix_spawn_file_actions_t quiet;
    pid_t                      pid;
    int                        status = -1, rc;

    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = posix_spawn(&pid, program, &quiet, NULL, argv, env);
    posix_spawn_file_actions_destroy(&quiet);
    while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* See ld.so(8). Returns only if it fails. */
static void exec_with_our_libc(int argc, char **argv)
{
    static char loader[PATH_MAX + 32], libraries[2 * PATH_MAX + 32];
    static char option[] = "--library-path";
    char      **all = calloc((size_t)argc + 4, sizeof *all);

    if (all == NULL)
        return;
    snprintf(loader, sizeof loader, "%s/ld.so", dir);
    snprintf(libraries, sizeof libraries, "%s/libc:%s/lib", dir, dir);
    all[0] = loader;
    all[1] = option;
    all[2] = libraries;
    all[3] = program;
    memcpy(all + 4, argv + 1, (size_t)argc * sizeof *argv); /* with the NULL */
    execv(loader, all);
    free(all);
}
