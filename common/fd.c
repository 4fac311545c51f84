/* fd.c - see fd.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "xalloc.h"

#define COLUMNS 80 /* for a terminal of unknown width */

/* Without close_range() (before Linux 5.9, or forbidden by a container) closes the descriptors
 * that /proc lists, because the limit may be a billion; without /proc, the first 65536. */
void fd_close_from(int first)
{
    DIR           *open_ones;
    struct dirent *entry;
    int            fd;

    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0) == 0)
        return;
    open_ones = opendir("/proc/self/fd");
    for (fd = first; open_ones == NULL && fd < 65536; fd++)
        close(fd);
    while (open_ones != NULL && (entry = readdir(open_ones)) != NULL) {
        fd = (int)strtol(entry->d_name, NULL, 10);
        if (fd >= first && fd != dirfd(open_ones))
            close(fd);
    }
    if (open_ones != NULL)
        closedir(open_ones);
}

int fd_set_nonblock(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

size_t fd_write_all(int fd, const void *bytes, size_t size)
{
    size_t  done = 0;
    ssize_t got;

    while (done < size) {
        got = write(fd, (const char *)bytes + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        done += (size_t)got;
    }
    return done;
}

ssize_t fd_read_buffer(int fd, struct evbuffer *in, size_t most)
{
    struct evbuffer_iovec space[2];
    struct iovec          into[2];
    ssize_t               got;
    int                   ready = 0, count, i;

    /* Ask for the size first, so that a short line does not occupy a long block. */
    if (ioctl(fd, FIONREAD, &ready) < 0 || ready <= 0)
        ready = 512;
    if ((size_t)ready < most)
        most = (size_t)ready;
    count = evbuffer_reserve_space(in, (ev_ssize_t)most, space, 2);
    if (count < 1)
        xalloc_die();
    for (i = 0; i < count; i++) {
        if (space[i].iov_len > most)
            space[i].iov_len = most;
        most -= space[i].iov_len;
        into[i].iov_base = space[i].iov_base;
        into[i].iov_len = space[i].iov_len;
    }
    do
        got = readv(fd, into, count);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return got;
    if ((size_t)got <= space[0].iov_len) {
        space[0].iov_len = (size_t)got;
        count = 1;
    } else {
        space[1].iov_len = (size_t)got - space[0].iov_len;
    }
    if (evbuffer_commit_space(in, space, count) < 0)
        xalloc_die();
    return got;
}

ssize_t fd_read_file(const char *path, char *text, size_t size)
{
    int     fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0, length = 0;

    text[0] = '\0';
    if (fd < 0)
        return -1;
    while ((size_t)length < size - 1) {
        got = read(fd, text + length, size - 1 - (size_t)length);
        if (got <= 0)
            break;
        length += got;
    }
    text[length] = '\0';
    close(fd);
    return got < 0 && length == 0 ? -1 : length;
}

bool fd_write_file(const char *path, const char *text)
{
    int  fd = open(path, O_WRONLY | O_CLOEXEC);
    bool taken;

    if (fd < 0)
        return false;
    taken = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return taken;
}

bool fd_is_same_file(int one, int other)
{
    struct stat a, b;

    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

size_t fd_columns(int fd)
{
    struct winsize window;

    if (!isatty(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : COLUMNS;
}
