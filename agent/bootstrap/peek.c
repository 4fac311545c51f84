/* peek.c - see peek.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/peek.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.h"
#include "xalloc.h"

#define MARKER_SIZE 65536

/* The exit statuses of the child. */
enum { PEEK_YES, PEEK_ABSENT, PEEK_OTHER, PEEK_NO_NAMESPACE, PEEK_NO_MOUNT };

static int look_into(const struct disk *disk, const char *device, const char *marker,
                     const char *text);
static int look_at(const char *place, const char *marker, const char *text);
static int explain(int found, const char *marker, const char *text, struct error *err);

int peek_marker(const char *root, const struct disk *disk, const char *marker, const char *text,
                struct error *err)
{
    char *device = xasprintf("%s/dev/%s", root, disk->name);
    int   status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(look_into(disk, device, marker, text));
    free(device);
    if (child < 0)
        return err_set(err, "fork: %s", strerror(errno));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(err, "waitpid: %s", strerror(errno));
    return explain(WIFEXITED(status) ? WEXITSTATUS(status) : PEEK_NO_MOUNT, marker, text, err);
}

/* Mounts the disk over /mnt, in this namespace only. */
static int look_into(const struct disk *disk, const char *device, const char *marker,
                     const char *text)
{
    const char *options = strcmp(disk->superblock.type, "xfs") == 0 ? "norecovery,nouuid"
                          : strcmp(disk->superblock.type, "ext2") == 0 ? ""
                                                                       : "noload";

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return PEEK_NO_NAMESPACE;
    if (mount(device, "/mnt", disk->superblock.type, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
              options) < 0)
        return PEEK_NO_MOUNT;
    return look_at("/mnt", marker, text);
}

int peek_mounted(const char *root, const char *place, const char *marker, const char *text,
                 struct error *err)
{
    char *whole = xasprintf("%s%s", root, place);
    int   found = look_at(whole, marker, text);

    free(whole);
    return explain(found, marker, text, err);
}

static int look_at(const char *place, const char *marker, const char *text)
{
    char   *path = xasprintf("%s/%s", place, marker), *bytes = xmalloc(MARKER_SIZE);
    ssize_t got = fd_read_file(path, bytes, MARKER_SIZE);
    int     found = got < 0                                          ? PEEK_ABSENT
                    : text != NULL && strstr(bytes, text) == NULL ? PEEK_OTHER
                                                                     : PEEK_YES;

    free(bytes);
    free(path);
    return found;
}

static int explain(int found, const char *marker, const char *text, struct error *err)
{
    switch (found) {
    case PEEK_YES:
        return 1;
    case PEEK_ABSENT:
        err_set(err, "it has no file %s", marker);
        return 0;
    case PEEK_OTHER:
        err_set(err, "its file %s does not have the text '%s'", marker, text);
        return 0;
    case PEEK_NO_NAMESPACE:
        return err_set(err, "no mount namespace is available");
    default:
        return err_set(err, "it cannot be mounted read-only");
    }
}
