/* rundir.c - see rundir.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "xalloc.h"

static const char *const files[] = { "plan.json", "log", "result.json", "stacks.txt" };

static int  make_path(const char *path, struct error *err);
static int  write_json(int dir_fd, const char *name, const json_t *body, struct error *err);
static void remove_old(const char *runs);

/* $XDG_STATE_HOME/muster/runs; NULL without a home. */
static char *runs_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state != NULL && state[0] == '/')
        return xasprintf("%s/muster/runs", state);
    if (home != NULL && home[0] == '/')
        return xasprintf("%s/.local/state/muster/runs", home);
    return NULL;
}

int rundir_open(struct rundir *dir, const struct plan *plan, struct error *err)
{
    char   *runs = runs_path();
    json_t *body;
    int     rc = -1;

    *dir = (struct rundir){ .fd = -1, .log_fd = -1 };
    if (runs == NULL)
        return err_set(err, "no directory for what is kept of runs: HOME is not set");
    dir->path = xasprintf("%s/%s", runs, plan->run_id);
    if (make_path(dir->path, err) < 0)
        goto out;
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir->fd >= 0)
        dir->log_fd = openat(dir->fd, "log", O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (dir->log_fd < 0 || flock(dir->log_fd, LOCK_EX | LOCK_NB) < 0) {
        err_set(err, "%s: %s", dir->path, strerror(errno));
        goto out;
    }
    body = plan_json(plan, false);
    rc = write_json(dir->fd, "plan.json", body, err);
    json_decref(body);
    if (rc == 0) {
        log_copy(dir->log_fd);
        remove_old(runs);
    }
out:
    free(runs);
    if (rc < 0)
        rundir_close(dir);
    return rc;
}

int rundir_result(const struct rundir *dir, const json_t *result, struct error *err)
{
    return dir->path == NULL ? 0 : write_json(dir->fd, "result.json", result, err);
}

int rundir_stacks(const struct rundir *dir, const char *text, size_t size, struct error *err)
{
    int fd = openat(dir->fd, "stacks.txt", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = 0;

    if (fd < 0 || write(fd, text, size) != (ssize_t)size)
        rc = err_set(err, "stacks.txt: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}

void rundir_close(struct rundir *dir)
{
    if (dir->path == NULL)
        return;
    log_copy(-1);
    if (dir->log_fd >= 0)
        close(dir->log_fd);
    if (dir->fd >= 0)
        close(dir->fd);
    free(dir->path);
    *dir = (struct rundir){ .fd = -1, .log_fd = -1 };
}

/* mkdir -p, all of it ours alone. */
static int make_path(const char *path, struct error *err)
{
    char *copy = xstrdup(path), *slash = copy;
    int   rc = 0;

    while (rc == 0 && (slash = strchr(slash + 1, '/')) != NULL) {
        *slash = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            rc = err_set(err, "%s: %s", copy, strerror(errno));
        *slash = '/';
    }
    if (rc == 0 && mkdir(path, 0700) < 0)
        rc = err_set(err, "%s: %s", path, strerror(errno));
    free(copy);
    return rc;
}

static int write_json(int dir_fd, const char *name, const json_t *body, struct error *err)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -1 : json_dumpfd(body, fd, JSON_INDENT(2));

    if (rc < 0)
        err_set(err, "%s: %s", name, strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Run ids begin with their date: 20261120-073000-a1b2. */
static int is_run_id(const struct dirent *entry)
{
    return strlen(entry->d_name) == 20 && strspn(entry->d_name, "0123456789-abcdef") == 20;
}

/* A run that still goes on holds the lock of its log. */
static bool is_over(int dir_fd)
{
    int  fd = openat(dir_fd, "log", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool over = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;

    if (fd >= 0)
        close(fd);
    return over;
}

/* Only what we wrote; somebody's own files keep the directory alive. */
static void remove_run(int runs_fd, const char *name)
{
    int    dir_fd = openat(runs_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    size_t i;

    if (dir_fd < 0)
        return;
    if (is_over(dir_fd)) {
        for (i = 0; i < sizeof files / sizeof *files; i++)
            unlinkat(dir_fd, files[i], 0);
        unlinkat(runs_fd, name, AT_REMOVEDIR);
    }
    close(dir_fd);
}

static void remove_old(const char *runs)
{
    struct dirent **entry = NULL;
    int             i, count = scandir(runs, &entry, is_run_id, alphasort);
    int             runs_fd = open(runs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (i = 0; i < count; i++) {
        if (i < count - RUNDIR_KEPT && runs_fd >= 0)
            remove_run(runs_fd, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    if (runs_fd >= 0)
        close(runs_fd);
}
