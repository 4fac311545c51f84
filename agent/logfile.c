/* logfile.c - see logfile.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd.h"
#include "xalloc.h"

int logfile_dir(const char *dir, struct error *err)
{
    struct stat about;

    if (mkdir(dir, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return err_set(err, "cannot create the log directory %s: %s", dir, strerror(errno));
    if (stat(dir, &about) < 0)
        return err_set(err, "log directory %s: %s", dir, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return err_set(err, "cannot create the log directory %s: there is a file of that name",
                       dir);
    return 0;
}

int logfile_open(const char *dir, const char *stamp, uint32_t rank, char **path,
                 struct error *err)
{
    int fd;

    *path = xasprintf("%s/%s_rank%u.log", dir, stamp, rank);
    fd = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0666);
    if (fd < 0) {
        err_set(err, "cannot create the log file %s: %s", *path, strerror(errno));
        free(*path);
        *path = NULL;
    }
    return fd;
}

uint64_t logfile_write(int fd, struct evbuffer *buffer, size_t size)
{
    struct evbuffer_ptr   from;
    struct evbuffer_iovec part[8];
    size_t                written = 0, one;
    int                   count, i;

    evbuffer_ptr_set(buffer, &from, evbuffer_get_length(buffer) - size, EVBUFFER_PTR_SET);
    count = evbuffer_peek(buffer, (ev_ssize_t)size, &from, part, 8);
    for (i = 0; i < count && i < 8; i++) {
        one = fd_write_all(fd, part[i].iov_base, part[i].iov_len);
        written += one;
        if (one < part[i].iov_len)
            break;
    }
    return size - written;
}
