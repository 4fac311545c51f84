/* bcast_receive.c - see bcast_receive.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_receive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/bcast_file.h"
#include "copy/safe_openat.h"
#include "entry.h"
#include "frame.h"
#include "xalloc.h"

#define ENTRIES_MAX (1u << 24)

struct bcast_receive {
    const struct bcast_receive_ops *ops;
    void                           *arg;
    int                             root_fd; /* -1: no tree yet */
    uint32_t                        next;    /* number of the next entry of this tree */
    char                            dir[ENTRY_PATH_MAX + 1]; /* the last directory that has come */
    char              failed[ENTRY_PATH_MAX + 1];            /* one that cannot be made; "": none */
    struct bcast_file file;
    uint32_t          number; /* of the file */
    uint64_t          left;   /* bytes of it that have not come; thrown away once it has failed */
};

static int  make_dirs(const char *path);
static int  check_place(const struct bcast_receive *receiver, const struct entry *entry,
                        struct error *err);
static void take_entry(struct bcast_receive *receiver, const struct entry *entry,
                       uint32_t number, struct buffer *wanted);
static void take_dir(struct bcast_receive *receiver, const struct safe_place *place,
                     const struct entry *entry, uint32_t number);
static int  set_dir_mode(const struct safe_place *place, uint32_t mode);
static int  check_dir(const struct safe_place *place);
static void take_link(struct bcast_receive *receiver, const struct safe_place *place,
                      const struct entry *entry, uint32_t number);
static bool is_wanted(struct bcast_receive *receiver, const struct safe_place *place,
                      const struct entry *entry, uint32_t number);
static bool same_time(const struct timespec *here, const struct timespec *there);
static void begin_file(struct bcast_receive *receiver, const struct entry *entry);
static void finish_file(struct bcast_receive *receiver);
static void fail(struct bcast_receive *receiver, uint32_t number, const char *what, int error);
static bool is_below(const char *path, const char *dir);

struct bcast_receive *bcast_receive_new(const struct bcast_receive_ops *ops, void *arg)
{
    struct bcast_receive *receiver = xcalloc(1, sizeof *receiver);

    receiver->ops = ops;
    receiver->arg = arg;
    receiver->root_fd = -1;
    bcast_file_init(&receiver->file);
    return receiver;
}

void bcast_receive_free(struct bcast_receive *receiver)
{
    if (receiver == NULL)
        return;
    bcast_file_drop(&receiver->file);
    if (receiver->root_fd >= 0)
        close(receiver->root_fd);
    free(receiver);
}

int bcast_receive_root(struct bcast_receive *receiver, const char *root, struct error *err)
{
    if (receiver->root_fd >= 0)
        close(receiver->root_fd);
    receiver->root_fd = make_dirs(root) < 0
                           ? -1 : open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (receiver->root_fd < 0)
        return err_set(err, "%.400s: %s", root, strerror(errno));
    bcast_file_drop(&receiver->file);
    receiver->left = 0;
    receiver->next = 0;
    receiver->dir[0] = receiver->failed[0] = '\0';
    return 0;
}

/* As mkdir -p does. */
static int make_dirs(const char *path)
{
    char *copy = xstrdup(path), *slash = copy;
    int   rc = 0;

    while (rc == 0 && slash != NULL) {
        slash = strchr(slash + 1, '/');
        if (slash != NULL)
            *slash = '\0';
        rc = mkdir(copy, 0777) < 0 && errno != EEXIST ? -1 : 0;
        if (rc < 0 && access(copy, F_OK) == 0)
            rc = 0; /* a read-only file system may say this of a directory that exists */
        if (slash != NULL)
            *slash = '/';
    }
    free(copy);
    return rc;
}

int bcast_receive_entries(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                          struct buffer *wanted, struct error *err)
{
    struct entry_reader reader = { .at = body, .left = size };
    struct entry        entry;
    int                 rc;

    if (receiver->root_fd < 0)
        return err_set(err, "ENTRIES frame without a tree");
    while ((rc = entry_next(&reader, &entry, err)) > 0) {
        if (receiver->next == ENTRIES_MAX)
            return err_set(err, "a tree of more than %u entries", ENTRIES_MAX);
        if (check_place(receiver, &entry, err) < 0)
            return -1;
        take_entry(receiver, &entry, receiver->next++, wanted);
    }
    return rc;
}

/* A directory is sent before its contents, and its contents before the next entry beside it.
 * So an entry that is not in the last directory or one above it is below something that is
 * not a directory: a link or a file. */
static int check_place(const struct bcast_receive *receiver, const struct entry *entry,
                       struct error *err)
{
    const char *slash = strrchr(entry->path, '/');
    size_t      size = slash != NULL ? (size_t)(slash - entry->path) : 0;

    if (size > 0 && (strncmp(entry->path, receiver->dir, size) != 0 ||
                     (receiver->dir[size] != '/' && receiver->dir[size] != '\0')))
        return err_set(err, "%.400s: its directory was not sent", entry->path);
    return 0;
}

static void take_entry(struct bcast_receive *receiver, const struct entry *entry, uint32_t number,
                       struct buffer *wanted)
{
    struct safe_place place;

    if (entry->type == ENTRY_DIR)
        snprintf(receiver->dir, sizeof receiver->dir, "%s", entry->path);
    if (receiver->failed[0] != '\0' && is_below(entry->path, receiver->failed))
        return; /* already reported for its directory */
    if (safe_find(receiver->root_fd, entry->path, &place) < 0) {
        fail(receiver, number, "find the directory", errno);
        return;
    }
    if (entry->type == ENTRY_DIR) {
        take_dir(receiver, &place, entry, number);
    } else if (entry->type == ENTRY_LINK) {
        take_link(receiver, &place, entry, number);
    } else if (is_wanted(receiver, &place, entry, number)) {
        put_u32((unsigned char *)buffer_reserve(wanted, 4), number);
        wanted->size += 4;
    }
    close(place.dir_fd);
}

/* --- directories and links -------------------------------------------------- */

static void take_dir(struct bcast_receive *receiver, const struct safe_place *place,
                     const struct entry *entry, uint32_t number)
{
    int rc = mkdirat(place->dir_fd, place->name, 0700);

    if (rc == 0)
        rc = set_dir_mode(place, entry->mode);
    else if (errno == EEXIST)
        rc = check_dir(place);
    if (rc == 0)
        return;
    fail(receiver, number, "make the directory", errno);
    snprintf(receiver->failed, sizeof receiver->failed, "%s", entry->path);
}

/* A directory that we cannot write into is of no use. Its group stays the one inherited from
 * its parent. */
static int set_dir_mode(const struct safe_place *place, uint32_t mode)
{
    struct stat now;
    int fd = openat(place->dir_fd, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fstat(fd, &now);

    if (rc == 0)
        rc = fchmod(fd, (mode & 0777) | 0700 | (now.st_mode & S_ISGID));
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Does the directory exist already? */
static int check_dir(const struct safe_place *place)
{
    struct stat now;

    if (fstatat(place->dir_fd, place->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (S_ISDIR(now.st_mode))
        return 0;
    errno = S_ISLNK(now.st_mode) ? ELOOP : ENOTDIR;
    return -1;
}

static void take_link(struct bcast_receive *receiver, const struct safe_place *place,
                      const struct entry *entry, uint32_t number)
{
    char    now[ENTRY_PATH_MAX + 2], temporary[SAFE_TEMPORARY_BYTES];
    ssize_t size = readlinkat(place->dir_fd, place->name, now, sizeof now);
    int     error;

    if (size == (ssize_t)strlen(entry->target) && memcmp(now, entry->target, (size_t)size) == 0)
        return;
    safe_temporary(temporary);
    if (symlinkat(entry->target, place->dir_fd, temporary) < 0) {
        fail(receiver, number, "make the link", errno);
    } else if (safe_replace(place, temporary) < 0) {
        error = errno;
        unlinkat(place->dir_fd, temporary, 0);
        fail(receiver, number, "make the link", error);
    }
}

/* --- files ------------------------------------------------------------------ */

/* False if the same file is there already, or if something is in its way, which is reported. */
static bool is_wanted(struct bcast_receive *receiver, const struct safe_place *place,
                      const struct entry *entry, uint32_t number)
{
    uint32_t    mode = entry->mode & 0777;
    struct stat now;
    int         found = safe_look(place, &now);

    if (found < 0)
        fail(receiver, number, "replace", errno);
    if (found <= 0)
        return found == 0;
    if (!S_ISREG(now.st_mode) || (uint64_t)now.st_size != entry->size ||
        !same_time(&now.st_mtim, &entry->mtime))
        return true;
    if ((now.st_mode & 07777) != mode && (now.st_mode & 07777) != entry->mode &&
        fchmodat(place->dir_fd, place->name, mode, AT_SYMLINK_NOFOLLOW) < 0)
        fail(receiver, number, "set the mode", errno);
    return false;
}

static bool same_time(const struct timespec *here, const struct timespec *there)
{
    /* Some file systems store whole seconds only. */
    return here->tv_sec == there->tv_sec &&
           (here->tv_nsec == there->tv_nsec || here->tv_nsec == 0);
}

int bcast_receive_file(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                       struct error *err)
{
    struct entry_reader reader = { .at = body + 4, .left = size > 4 ? size - 4 : 0 };
    struct entry        entry;
    int                 rc = receiver->root_fd < 0 ? 0 : entry_next(&reader, &entry, err);

    if (rc < 0)
        return -1;
    if (rc == 0 || reader.left > 0 || entry.type != ENTRY_FILE)
        return err_set(err, "FILE frame: not exactly one file of a tree");
    if (receiver->left > 0)
        return err_set(err, "FILE frame before the end of the last file");
    if (get_u32(body) >= receiver->next)
        return err_set(err, "file %u was never announced", get_u32(body));
    receiver->number = get_u32(body);
    receiver->left = entry.size;
    begin_file(receiver, &entry);
    if (receiver->left == 0)
        finish_file(receiver);
    return 0;
}

int bcast_receive_data(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                       struct error *err)
{
    const char *what = NULL;

    if (size > receiver->left)
        return err_set(err, "more bytes than the file has");
    if (size == 0) { /* the sender read a file that was changing */
        bcast_file_drop(&receiver->file);
        receiver->left = 0;
        return 0;
    }
    receiver->left -= size;
    if (bcast_file_is_open(&receiver->file))
        what = bcast_file_write(&receiver->file, body, size);
    if (what != NULL)
        fail(receiver, receiver->number, what, errno);
    if (receiver->left == 0)
        finish_file(receiver);
    return 0;
}

static void begin_file(struct bcast_receive *receiver, const struct entry *entry)
{
    struct safe_place place;
    const char       *what = "find the directory";

    if (safe_find(receiver->root_fd, entry->path, &place) == 0)
        what = bcast_file_begin(&receiver->file, &place, entry);
    if (what != NULL)
        fail(receiver, receiver->number, what, errno);
}

/* A failure before this was reported then. */
static void finish_file(struct bcast_receive *receiver)
{
    const char *what =
        bcast_file_is_open(&receiver->file) ? bcast_file_finish(&receiver->file) : NULL;

    if (what != NULL)
        fail(receiver, receiver->number, what, errno);
}

/* --- small things ----------------------------------------------------------- */

static void fail(struct bcast_receive *receiver, uint32_t number, const char *what, int error)
{
    const char *why = strerror(error);
    bool is_all = error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO;

    switch (error) {
    case ELOOP:
        why = "a symbolic link is in the way";
        break;
    case ENOTDIR:
        why = "a file is in the way";
        break;
    case EISDIR:
        why = "a directory is in the way";
        break;
    case EEXIST:
        why = "a device, pipe or socket is in the way";
        break;
    }
    receiver->ops->failed(number, what, why, is_all, receiver->arg);
}

/* dir itself does not count. */
static bool is_below(const char *path, const char *dir)
{
    size_t size = strlen(dir);

    return strncmp(path, dir, size) == 0 && path[size] == '/';
}
