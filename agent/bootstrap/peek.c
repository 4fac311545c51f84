/* peek.c - see peek.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/peek.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "fd.h"
#include "xalloc.h"

#define MARKER_SIZE 65536
#define NAMES_MAX   4096
#define HERE        "/mnt" /* it is everywhere */

/* The exit statuses of the child. */
enum { PEEK_YES, PEEK_ABSENT, PEEK_OTHER, PEEK_NO_NAMESPACE, PEEK_NO_MOUNT };

static int end_of(pid_t child);
static int mount_here(const struct disk *disk, const char *device);
static int look_at(const char *place, const char *marker, const char *text);
static int explain(int found, const char *marker, const char *text, struct error *err);
static int send_names(const char *place, int fd);
static bool is_folder(int dir, const struct dirent *entry);
static void take_names(int fd, struct strlist *names);
static int compare(const void *one, const void *other);

int peek_marker(const char *root, const struct disk *disk, const char *marker, const char *text,
                struct error *err)
{
    char *device = xasprintf("%s/dev/%s", root, disk->name);
    pid_t child = fork();
    int   found;

    if (child == 0) {
        found = mount_here(disk, device);
        _exit(found == PEEK_YES ? look_at(HERE, marker, text) : found);
    }
    free(device);
    if (child < 0)
        return err_set(err, "fork: %s", strerror(errno));
    return explain(end_of(child), marker, text, err);
}

static int end_of(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return PEEK_NO_MOUNT;
    return WIFEXITED(status) ? WEXITSTATUS(status) : PEEK_NO_MOUNT;
}

/* Mounts the disk in a namespace of this process. */
static int mount_here(const struct disk *disk, const char *device)
{
    const char *options = strcmp(disk->superblock.type, "xfs") == 0 ? "norecovery,nouuid"
                          : strcmp(disk->superblock.type, "ext2") == 0 ? ""
                                                                       : "noload";

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return PEEK_NO_NAMESPACE;
    if (mount(device, HERE, disk->superblock.type, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
              options) < 0)
        return PEEK_NO_MOUNT;
    return PEEK_YES;
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
    char       *path = xasprintf("%s/%s", place, marker), *bytes = xmalloc(MARKER_SIZE);
    struct stat about;
    int         found;

    if (text == NULL && stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        found = PEEK_YES;
    else if (fd_read_file(path, bytes, MARKER_SIZE) < 0)
        found = PEEK_ABSENT;
    else
        found = text != NULL && strstr(bytes, text) == NULL ? PEEK_OTHER : PEEK_YES;
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
        err_set(err, "it has no %s %s",
                marker[0] != '\0' && marker[strlen(marker) - 1] == '/' ? "folder" : "file", marker);
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

/* --- names ------------------------------------------------------------------ */

int peek_names(const char *root, const struct disk *disk, const char *place,
               struct strlist *names, struct error *err)
{
    char *path = place != NULL ? xasprintf("%s%s", root, place)
                               : xasprintf("%s/dev/%s", root, disk->name);
    int   ends[2] = { -1, -1 }, found;
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;

    if (child == 0) {
        found = place != NULL ? PEEK_YES : mount_here(disk, path);
        _exit(found == PEEK_YES ? send_names(place != NULL ? path : HERE, ends[1]) : found);
    }
    if (child < 0)
        err_set(err, "fork: %s", strerror(errno));
    free(path);
    close(ends[1]);
    if (child > 0)
        take_names(ends[0], names);
    close(ends[0]);
    if (child > 0 && explain(end_of(child), "", NULL, err) > 0)
        return 0;
    strlist_clear(names);
    return -1;
}

/* Each with a NUL. */
static int send_names(const char *place, int fd)
{
    DIR           *dir = opendir(place);
    struct dirent *entry;
    char           name[sizeof entry->d_name + 1];
    int            count = 0;

    if (dir == NULL)
        return PEEK_NO_MOUNT;
    while (count < NAMES_MAX && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strcmp(entry->d_name, "lost+found") == 0)
            continue;
        snprintf(name, sizeof name, "%s%s", entry->d_name,
                 is_folder(dirfd(dir), entry) ? "/" : "");
        fd_write_all(fd, name, strlen(name) + 1);
        count++;
    }
    closedir(dir);
    return PEEK_YES;
}

static bool is_folder(int dir, const struct dirent *entry)
{
    struct stat about;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dir, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(about.st_mode);
}

static void take_names(int fd, struct strlist *names)
{
    struct buffer text = { 0 };
    char          bytes[4096];
    ssize_t       got;
    size_t        at;

    while ((got = read(fd, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR))
        buffer_add(&text, bytes, got > 0 ? (size_t)got : 0);
    buffer_add(&text, "", 1); /* also after a name that its sender could not finish */
    for (at = 0; at + 1 < text.size; at += strlen(text.bytes + at) + 1)
        strlist_add(names, text.bytes + at);
    buffer_clear(&text);
    if (names->count > 0)
        qsort(names->item, names->count, sizeof *names->item, compare);
}

static int compare(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}
