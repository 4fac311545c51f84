/* file.c - see file.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xalloc.h"

static int read_all(int fd, const char *path, size_t max, char **text, size_t *size,
                    struct error *err);

char *file_read(const char *path, size_t max, size_t *size, struct error *err)
{
    int   is_stdin = strcmp(path, "-") == 0;
    int   fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;

    if (fd < 0) {
        err_set(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (read_all(fd, is_stdin ? "stdin" : path, max, &text, size, err) < 0) {
        free(text);
        text = NULL;
    }
    if (!is_stdin)
        close(fd);
    return text;
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
