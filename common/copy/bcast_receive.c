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

#include "copy/bcast_receive_state.h"
#include "copy/safe_openat.h"
#include "entry.h"
#include "frame.h"
#include "xalloc.h"

#define ENTRIES_MAX (1u << 20)

static int  make_dirs(const char *path);
static int  check_entry(const struct bcast_receive *receiver, const struct entry *entry,
                        struct error *err);
static int  check_place(const struct bcast_receive *receiver, const struct entry *entry,
                        struct error *err);
static void take_entry(struct bcast_receive *receiver, const struct entry *entry,
                       uint32_t number, struct buffer *wanted);
static void take_dir(struct bcast_receive *receiver, const struct safe_place *place,
                     const struct entry *entry, uint32_t number);
static int  set_new_mode(const struct safe_place *place, uint32_t mode);
static int  check_dir(const struct safe_place *place);
static void take_link(struct bcast_receive *receiver, const struct safe_place *place,
                      const struct entry *entry, uint32_t number);
static void take_file(struct bcast_receive *receiver, const struct safe_place *place,
                      const struct entry *entry, uint32_t number, struct buffer *wanted);
static int  is_here(const struct safe_place *place, const struct entry *entry, bool *is_absent);
static bool set_file_mode(const struct safe_place *place, uint32_t mode);
static bool same_time(const struct timespec *here, const struct timespec *there);
static bool is_below(const char *path, const char *dir);

struct bcast_receive *bcast_receive_new(const struct bcast_receive_ops *ops, void *arg,
                                        enum bcast_links links, size_t small_files)
{
    struct bcast_receive *receiver = xcalloc(1, sizeof *receiver);

    receiver->ops = ops;
    receiver->arg = arg;
    receiver->links = links;
    receiver->small_files = small_files;
    receiver->found_fd = -1;
    receiver->room = xmalloc(CHUNK_BYTES);
    return receiver;
}

void bcast_receive_free(struct bcast_receive *receiver)
{
    uint32_t t;

    if (receiver == NULL)
        return;
    bcast_receive_forget(receiver);
    for (t = 0; t < receiver->trees; t++)
        items_clear(&receiver->tree[t]);
    free(receiver->tree);
    chunk_rows_clear(&receiver->open);
    free(receiver->room);
    free(receiver);
}

int bcast_receive_root(struct bcast_receive *receiver, uint32_t tree, const char *root,
                       struct error *err)
{
    int fd;

    if (tree >= BCAST_TREES_MAX || (tree < receiver->trees && receiver->tree[tree].root_fd >= 0))
        return err_set(err, "tree %u sent twice, or more than %d trees", tree, BCAST_TREES_MAX);
    fd = make_dirs(root) < 0 ? -1 : open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, "%.400s: %s", root, strerror(errno));
    while (receiver->trees <= tree) {
        receiver->tree = xreallocarray(receiver->tree, receiver->trees + 1,
                                       sizeof *receiver->tree);
        receiver->tree[receiver->trees++] = (struct items){ .root_fd = -1 };
    }
    receiver->tree[tree].root_fd = fd;
    receiver->now = tree;
    receiver->dir[0] = receiver->failed[0] = '\0';
    return 0;
}

/* Makes directories as mkdir -p does. */
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
            rc = 0; /* a read-only file system may fail even if the directory exists */
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
    struct items       *items;
    int                 rc;

    if (receiver->trees == 0)
        return err_set(err, "ENTRIES frame without a tree");
    items = &receiver->tree[receiver->now];
    while ((rc = entry_next(&reader, &entry, err)) > 0) {
        if (items->count == ENTRIES_MAX)
            rc = err_set(err, "a tree of more than %u entries", ENTRIES_MAX);
        if (rc < 0 || (rc = check_entry(receiver, &entry, err)) < 0)
            break;
        items_add(items);
        take_entry(receiver, &entry, items->count - 1, wanted);
    }
    bcast_receive_forget(receiver);
    return rc;
}

static int check_entry(const struct bcast_receive *receiver, const struct entry *entry,
                       struct error *err)
{
    struct chunk       first = { receiver->now, (uint32_t)entry->size, 0 };
    const struct item *file = bcast_receive_item(receiver, first);
    const char        *fault = NULL;

    if (entry->type == ENTRY_LINK && receiver->links == BCAST_LINKS_WITHIN)
        fault = entry_link_leaves(entry->path, entry->target);
    if (entry->type == ENTRY_HARD && (entry->size > UINT32_MAX || file == NULL ||
                                      (!items_is_file(file) && file->state != ITEM_NONE)))
        fault = "a hard link to something that is not a file";
    if (fault != NULL)
        return err_set(err, "%.400s: %s", entry->path, fault);
    return check_place(receiver, entry, err);
}

/* A directory is sent before its contents, and its contents before the next entry in its
 * parent. An entry that is not in the last directory or one above it is therefore below
 * something that is not a directory: a link or a file. */
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
    if (bcast_receive_find(receiver, receiver->now, entry->path, &place) < 0) {
        bcast_receive_failed(receiver, (struct chunk){ receiver->now, number, 0 }, entry->path,
                             "find the directory", errno);
        return;
    }
    if (entry->type == ENTRY_DIR)
        take_dir(receiver, &place, entry, number);
    else if (entry->type == ENTRY_LINK)
        take_link(receiver, &place, entry, number);
    else if (entry->type == ENTRY_HARD)
        items_want(&receiver->tree[receiver->now].item[number], entry, ITEM_HARD);
    else
        take_file(receiver, &place, entry, number, wanted);
}

/* --- directories and links -------------------------------------------------- */

static void take_dir(struct bcast_receive *receiver, const struct safe_place *place,
                     const struct entry *entry, uint32_t number)
{
    int rc = mkdirat(place->dir_fd, place->name, 0700);

    if (rc == 0)
        rc = set_new_mode(place, entry->mode);
    else if (errno == EEXIST)
        rc = check_dir(place);
    if (rc == 0) {
        items_want(&receiver->tree[receiver->now].item[number], entry, ITEM_DIR);
        return;
    }
    bcast_receive_failed(receiver, (struct chunk){ receiver->now, number, 0 }, entry->path,
                         "make the directory", errno);
    snprintf(receiver->failed, sizeof receiver->failed, "%s", entry->path);
}

static int set_new_mode(const struct safe_place *place, uint32_t mode)
{
    int fd = openat(place->dir_fd, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = fd < 0 ? -1 : bcast_receive_dir_mode(fd, mode);

    if (fd >= 0)
        close(fd);
    return rc;
}

/* Keeps a directory writable for us, because it would be useless otherwise. Keeps the setgid
 * bit, by which the directory inherits its parent's group. */
int bcast_receive_dir_mode(int fd, uint32_t mode)
{
    struct stat now;
    mode_t      next;

    if (fstat(fd, &now) < 0)
        return -1;
    next = (mode & 0777) | 0700 | (now.st_mode & S_ISGID);
    return next == (now.st_mode & 07777) ? 0 : fchmod(fd, next);
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
    const struct timespec times[] = { entry->mtime, entry->mtime };
    char    now[ENTRY_PATH_MAX + 2], temporary[SAFE_TEMPORARY_BYTES];
    ssize_t size = readlinkat(place->dir_fd, place->name, now, sizeof now);
    int     error;

    items_want(&receiver->tree[receiver->now].item[number], entry, ITEM_LINK);
    if (size == (ssize_t)strlen(entry->target) && memcmp(now, entry->target, (size_t)size) == 0)
        return;
    safe_temporary(temporary);
    if (symlinkat(entry->target, place->dir_fd, temporary) < 0) {
        bcast_receive_failed(receiver, (struct chunk){ receiver->now, number, 0 }, entry->path,
                             "make the link", errno);
        return;
    }
    utimensat(place->dir_fd, temporary, times, AT_SYMLINK_NOFOLLOW); /* not worth a failure */
    if (safe_replace(place, temporary) < 0) {
        error = errno;
        unlinkat(place->dir_fd, temporary, 0);
        bcast_receive_failed(receiver, (struct chunk){ receiver->now, number, 0 }, entry->path,
                             "make the link", error);
    }
}

/* --- files ------------------------------------------------------------------ */

static void take_file(struct bcast_receive *receiver, const struct safe_place *place,
                      const struct entry *entry, uint32_t number, struct buffer *wanted)
{
    struct chunk chunk = { receiver->now, number, 0 };
    struct item *item = bcast_receive_item(receiver, chunk);
    bool         is_absent;
    int          here = is_here(place, entry, &is_absent);

    if (here < 0) {
        bcast_receive_failed(receiver, chunk, entry->path, "replace", errno);
        return;
    }
    items_want(item, entry, here > 0 ? ITEM_HERE : ITEM_WANTED);
    item->was_absent = is_absent;
    if (here > 0) {
        if (!set_file_mode(place, entry->mode))
            bcast_receive_failed(receiver, chunk, entry->path, "set the mode", errno);
        return;
    }
    if (entry->size == 0) {
        bcast_chunks_empty(receiver, item, chunk);
        return;
    }
    put_u32((unsigned char *)buffer_reserve(wanted, 4), number);
    wanted->size += 4;
}

/* Returns 1 if the same file is here already; 0 if not; -1 if something is in the way. */
static int is_here(const struct safe_place *place, const struct entry *entry, bool *is_absent)
{
    struct stat now;
    int         found = safe_look(place, &now);

    *is_absent = found == 0;
    return found <= 0 ? found
                      : S_ISREG(now.st_mode) && (uint64_t)now.st_size == entry->size &&
                            same_time(&now.st_mtim, &entry->mtime);
}

/* Sets the mode of a file that is here already. Its mode may have bits that we do not copy. */
static bool set_file_mode(const struct safe_place *place, uint32_t mode)
{
    struct stat now;

    return fstatat(place->dir_fd, place->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           ((now.st_mode & 07777) == mode || (now.st_mode & 07777) == (mode & 0777) ||
            fchmodat(place->dir_fd, place->name, mode & 0777, AT_SYMLINK_NOFOLLOW) == 0);
}

static bool same_time(const struct timespec *here, const struct timespec *there)
{
    /* Some file systems store whole seconds only. */
    return here->tv_sec == there->tv_sec &&
           (here->tv_nsec == there->tv_nsec || here->tv_nsec == 0);
}

/* --- directories that are open ----------------------------------------------- */

int bcast_receive_find(struct bcast_receive *receiver, uint32_t tree, const char *path,
                       struct safe_place *place)
{
    const char *slash = strrchr(path, '/');
    size_t      length = slash != NULL ? (size_t)(slash - path) : 0;

    if (receiver->found_fd < 0 || receiver->found_tree != tree ||
        strncmp(receiver->found, path, length) != 0 || receiver->found[length] != '\0') {
        bcast_receive_forget(receiver);
        if (safe_find(receiver->tree[tree].root_fd, path, place) < 0)
            return -1;
        receiver->found_fd = place->dir_fd;
        receiver->found_tree = tree;
        memcpy(receiver->found, path, length);
        receiver->found[length] = '\0';
    }
    *place = (struct safe_place){ receiver->found_fd, slash != NULL ? slash + 1 : path };
    return 0;
}

void bcast_receive_forget(struct bcast_receive *receiver)
{
    if (receiver->found_fd >= 0)
        close(receiver->found_fd);
    receiver->found_fd = -1;
}

/* --- small things ----------------------------------------------------------- */

struct item *bcast_receive_item(const struct bcast_receive *receiver, struct chunk chunk)
{
    return chunk.tree < receiver->trees && chunk.file < receiver->tree[chunk.tree].count
               ? &receiver->tree[chunk.tree].item[chunk.file] : NULL;
}

void bcast_receive_failed(struct bcast_receive *receiver, struct chunk chunk, const char *path,
                          const char *what, int error)
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
    receiver->ops->failed(chunk.tree, chunk.file, path, what, why, is_all, receiver->arg);
}

/* Is path below dir? dir itself does not count. */
static bool is_below(const char *path, const char *dir)
{
    size_t size = strlen(dir);

    return strncmp(path, dir, size) == 0 && path[size] == '/';
}
