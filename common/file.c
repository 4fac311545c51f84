/* file.c - see file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xalloc.h"

static char *read_file(const char *path, bool may_wait, size_t max, size_t *size,
                       struct error *err);
static int   open_file(const char *path, bool may_wait, struct error *err);
static bool  is_pipe(int fd);
static int   await_writer(int fd, const char *path, struct error *err);
static int   read_all(int fd, const char *path, size_t max, char **text, size_t *size,
                      struct error *err);

char *file_read(const char *path, size_t max, size_t *size, struct error *err)
{
    return read_file(path, true, max, size, err);
}

char *file_read_at_once(const char *path, size_t max, size_t *size, struct error *err)
{
    return read_file(path, false, max, size, err);
}

/* If a pipe is empty, its writer may not have started yet. */
static char *read_file(const char *path, bool may_wait, size_t max, size_t *size,
                       struct error *err)
{
    bool  is_stdin = may_wait && strcmp(path, "-") == 0;
    int   fd = is_stdin ? STDIN_FILENO : open_file(path, may_wait, err), rc;
    char *text = NULL;

    if (fd < 0)
        return NULL;
    rc = read_all(fd, is_stdin ? "stdin" : path, max, &text, size, err);
    if (rc == 0 && *size == 0 && !is_stdin && is_pipe(fd)) {
        rc = await_writer(fd, path, err);
        if (rc == 0)
            rc = read_all(fd, path, max, &text, size, err);
    }
    if (rc < 0) {
        free(text);
        text = NULL;
    }
    if (!is_stdin)
        close(fd);
    return text;
}

/* open() itself would wait for the writer of a pipe. */
static int open_file(const char *path, bool may_wait, struct error *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (may_wait)
        fcntl(fd, F_SETFL, 0); /* wait for a slow writer */
    if (may_wait || !is_pipe(fd))
        return fd;
    close(fd);
    return err_set(err, "%s: is a pipe; only a regular file can be read here", path);
}

static bool is_pipe(int fd)
{
    struct stat about;

    return fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
}

static int await_writer(int fd, const char *path, struct error *err)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };

    if (poll(&ready, 1, FILE_WRITER_S * 1000) > 0)
        return 0;
    return err_set(err, "%s: no process has written to this pipe for %d s", path,
                   FILE_WRITER_S);
}

static int read_all(int fd, const char *path, size_t max, char **text, size_t *size,
                    struct error *err)
{
    size_t  room = 0;
    ssize_t got;

    *size = 0;
    do {
        if (*size + 1 >= room) {
            room = room > 0 ? room * 2 : 16384;
            *text = xrealloc(*text, room);
        }
        got = read(fd, *text + *size, room - *size - 1);
        if (got > 0)
            *size += (size_t)got;
        if (*size > max)
            return err_set(err, "%s: more than %zu bytes", path, max);
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    (*text)[*size] = '\0';
    return 0;
}

int file_pread(int fd, void *bytes, size_t size, uint64_t from, struct error *err)
{
    size_t  done = 0;
    ssize_t n;

    while (done < size) {
        n = pread(fd, (char *)bytes + done, size - done, (off_t)(from + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, "%s", strerror(errno));
        if (n == 0)
            return err_set(err, "the file has become shorter");
        done += (size_t)n;
    }
    return 0;
}

int file_pwrite(int fd, const void *bytes, size_t size, uint64_t to, struct error *err)
{
    size_t  done = 0;
    ssize_t n;

    while (done < size) {
        n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(to + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(err, "%s", n < 0 ? strerror(errno) : "write returned 0 bytes");
        done += (size_t)n;
    }
    return 0;
}
