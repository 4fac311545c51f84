/* late.c - a file server that says only at a close that the quota is used up, by LD_PRELOAD
 *
 *     LATE_FILE=PATH INJECT_IN=muster LD_PRELOAD=late.so muster ...
 *
 * In that program closing a file whose path begins with PATH fails, as it may with NFS; with
 * LATE_MS=N it succeeds, but takes N milliseconds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *late; /* NULL: not in this program */
static long        pause_ms; /* 0: it fails */

__attribute__((constructor)) static void begin(void)
{
    const char *in = getenv("INJECT_IN");

    if (in != NULL && strcmp(in, program_invocation_short_name) == 0)
        late = getenv("LATE_FILE");
    if (getenv("LATE_MS") != NULL)
        pause_ms = strtol(getenv("LATE_MS"), NULL, 10);
}

int close(int fd)
{
    char    name[32], path[PATH_MAX] = "";
    ssize_t size = -1;
    int     saved = errno, rc;

    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (late != NULL)
        size = readlink(name, path, sizeof path - 1);
    errno = saved;
    rc = (int)syscall(SYS_close, fd);
    if (rc < 0 || size <= 0 || strncmp(path, late, strlen(late)) != 0)
        return rc;
    if (pause_ms > 0) {
        poll(NULL, 0, (int)pause_ms);
        errno = saved;
        return rc;
    }
    errno = EDQUOT;
    return -1;
}
