/* metrics_file.c - see metrics_file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "metrics/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fd.h"
#include "log.h"
#include "thread.h"
#include "xalloc.h"

#define NEW_SUFFIX ".XXXXXX" /* while it is written: the collector reads names in .prom only */
#define MODE       0644

struct metrics_file {
    char     *path;
    char     *text;  /* that the thread writes */
    int       error; /* of the last text, an errno; 0: none */
    bool      is_writing, has_warned;
    pthread_t writer;
};

static char *new_name(const char *path);
static void *write_cb(void *arg);
static int   write_new(int fd, const char *text);
static bool  await(struct metrics_file *file, const struct timespec *until);
static void  take_end(struct metrics_file *file);

struct metrics_file *metrics_file_open(const char *path, struct error *err)
{
    struct metrics_file *file;
    struct stat          about;
    char                *name;
    int                  fd;

    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        err_set(err, "--metrics %s: is not a file; name one in a directory, such as "
                     "/var/lib/prometheus/node-exporter/train.prom", path);
        return NULL;
    }
    name = new_name(path);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        err_set(err, "--metrics %s: cannot create %s: %s; it needs a directory that you may write "
                     "to", path, name, strerror(errno));
        free(name);
        return NULL;
    }
    close(fd);
    unlink(name);
    free(name);
    file = xcalloc(1, sizeof *file);
    file->path = xstrdup(path);
    return file;
}

static char *new_name(const char *path)
{
    return xasprintf("%s" NEW_SUFFIX, path);
}

bool metrics_file_is_busy(struct metrics_file *file)
{
    if (!file->is_writing)
        return false;
    if (pthread_tryjoin_np(file->writer, NULL) != 0)
        return true;
    take_end(file);
    return false;
}

void metrics_file_put(struct metrics_file *file, char *text)
{
    free(file->text);
    file->text = text;
    file->error = thread_start(&file->writer, write_cb, file);
    file->is_writing = file->error == 0;
    if (!file->is_writing)
        take_end(file);
}

static void *write_cb(void *arg)
{
    struct metrics_file *file = arg;
    char                *name = new_name(file->path);
    int                  fd = mkostemp(name, O_CLOEXEC);

    file->error = fd < 0 ? errno : write_new(fd, file->text);
    if (file->error == 0 && rename(name, file->path) < 0)
        file->error = errno;
    if (fd >= 0 && file->error != 0)
        unlink(name);
    free(name);
    return NULL;
}

/* Returns an errno; 0: it is written. */
static int write_new(int fd, const char *text)
{
    size_t size = strlen(text);
    int    error = 0;

    errno = 0;
    if (fd_write_all(fd, text, size) != size || fchmod(fd, MODE) < 0)
        error = errno != 0 ? errno : EIO;
    if (close(fd) < 0 && error == 0)
        error = errno;
    return error;
}

/* If the thread hangs in the file system, its data is never freed. */
void metrics_file_close(struct metrics_file *file, char *text)
{
    struct timespec until = { 0 };

    if (file == NULL) {
        free(text);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)METRICS_FILE_END_S;
    if (!await(file, &until)) {
        free(text);
        return;
    }
    if (text != NULL) {
        metrics_file_put(file, text);
        if (!await(file, &until))
            return;
    }
    free(file->text);
    free(file->path);
    free(file);
}

static bool await(struct metrics_file *file, const struct timespec *until)
{
    if (!file->is_writing)
        return true;
    if (pthread_timedjoin_np(file->writer, NULL, until) != 0) {
        log_warn("--metrics %s: its file system does not answer; the file is not up to date",
                 file->path);
        return false;
    }
    take_end(file);
    return true;
}

/* The thread has ended. */
static void take_end(struct metrics_file *file)
{
    file->is_writing = false;
    if (file->error == 0 || file->has_warned)
        return;
    file->has_warned = true;
    log_warn("--metrics %s: %s; the file may be old, and later failures are not shown",
             file->path, strerror(file->error));
}
