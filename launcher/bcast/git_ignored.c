/* git_ignored.c - see git_ignored.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bcast/git_ignored.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xalloc.h"

#define GIT_S     60 /* to look through a working tree */
#define WORDS_MAX 512 /* bytes of its error message */

static int  ask(const char *dir, struct strlist *ignored, struct error *err);
static int  run_git(const char *dir, int out, int errors, struct error *err);
static int  wait_for(pid_t pid, struct error *err);
static void add_paths(const char *dir, const char *bytes, size_t size, struct strlist *ignored);
static int  by_name(const void *a, const void *b);

int git_ignored_find(const struct strlist *dirs, struct strlist *ignored, struct error *err)
{
    struct stat about;
    size_t      i;
    int         rc = 0;

    for (i = 0; i < dirs->count && rc == 0; i++)
        if (stat(dirs->item[i], &about) == 0 && S_ISDIR(about.st_mode)) {
            strlist_addf(ignored, "%s/.git", dirs->item[i]);
            rc = ask(dirs->item[i], ignored, err);
        }
    if (ignored->count > 0)
        qsort(ignored->item, ignored->count, sizeof *ignored->item, by_name);
    return rc;
}

/* git writes into files in memory, so that we need not read while it runs. */
static int ask(const char *dir, struct strlist *ignored, struct error *err)
{
    int         out = memfd_create("muster-git", MFD_CLOEXEC);
    int         errors = memfd_create("muster-git", MFD_CLOEXEC);
    int         rc = out < 0 || errors < 0 ? err_set(err, "git: %s", strerror(errno))
                                           : run_git(dir, out, errors, err);
    struct stat about;
    char       *bytes;

    if (rc == 0 && fstat(out, &about) == 0 && about.st_size > 0) {
        bytes = xmalloc((size_t)about.st_size);
        if (pread(out, bytes, (size_t)about.st_size, 0) == about.st_size)
            add_paths(dir, bytes, (size_t)about.st_size, ignored);
        else
            rc = err_set(err, "git: its answer could not be read");
        free(bytes);
    }
    if (out >= 0)
        close(out);
    if (errors >= 0)
        close(errors);
    return rc;
}

static int run_git(const char *dir, int out, int errors, struct error *err)
{
    const char *const argv[] = { "git", "-C", dir, "ls-files", "--others", "--ignored",
                                 "--exclude-standard", "--directory", "-z", NULL };
    posix_spawn_file_actions_t actions;
    char                       words[WORDS_MAX + 1];
    ssize_t                    size;
    pid_t                      pid;
    int                        error, status;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return err_set(err, "--gitignore: cannot run git: %s", strerror(error));
    status = wait_for(pid, err);
    if (status <= 0)
        return status;
    size = pread(errors, words, WORDS_MAX, 0);
    size = size > 0 ? size : 0;
    while (size > 0 && words[size - 1] == '\n')
        size--;
    words[size] = '\0';
    return err_set(err, "--gitignore: %s: git failed: %s", dir, words);
}

/* Returns 0, 1 if git failed, or -1 with err. */
static int wait_for(pid_t pid, struct error *err)
{
    struct pollfd gone = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
    int           status = 0, rc;

    rc = gone.fd < 0 ? 1 : poll(&gone, 1, GIT_S * 1000);
    if (gone.fd >= 0)
        close(gone.fd);
    if (rc <= 0)
        kill(pid, SIGKILL);
    if (waitpid(pid, &status, 0) < 0)
        return err_set(err, "git: %s", strerror(errno));
    if (rc == 0)
        return err_set(err, "--gitignore: git did not answer within %d s", GIT_S);
    if (rc < 0)
        return err_set(err, "--gitignore: interrupted while git looked for ignored files");
    return status != 0;
}

/* Each path ends with NUL, one of a directory with '/' before it. */
static void add_paths(const char *dir, const char *bytes, size_t size, struct strlist *ignored)
{
    const char *end = bytes + size, *at;
    size_t      length;

    for (at = bytes; at < end; at += length + 1) {
        length = strnlen(at, (size_t)(end - at));
        strlist_addf(ignored, "%s/%.*s", dir,
                     (int)(length > 0 && at[length - 1] == '/' ? length - 1 : length), at);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}
