/* bcast_finish.c - what must wait until all files are here; see bcast_receive.h
 *
 * A file gets its name late, so hard links are made after all files. Only then do directories
 * keep their times. And a symbolic link may lead to a file of another tree.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "copy/bcast_receive.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/bcast_receive_state.h"

#define LINK_TRIES 1000
#define PART_ITEMS 256 /* per call: a slow network disk may take 20 ms for each */

enum pass { PASS_HARD_LINKS, PASS_REST, PASS_COUNT };

static bool next_item(struct bcast_receive *receiver, struct chunk *chunk);
static bool is_in_pass(const struct item *item, unsigned pass);
static void finish_item(struct bcast_receive *receiver, struct chunk chunk);
static void link_file(struct bcast_receive *receiver, struct chunk chunk);
static int  make_hard_link(const struct safe_place *from, const struct safe_place *to);
static int  link_now(const struct safe_place *from, int dir_fd, const char *name);
static void finish_dir(struct bcast_receive *receiver, struct chunk chunk,
                       const struct safe_place *place);
static bool is_dangling(const struct safe_place *place);

bool bcast_receive_finish(struct bcast_receive *receiver)
{
    struct chunk chunk;
    unsigned     done;

    for (done = 0; done < PART_ITEMS; done++) {
        if (!next_item(receiver, &chunk))
            break;
        finish_item(receiver, chunk);
    }
    bcast_receive_forget(receiver);
    return receiver->pass == PASS_COUNT;
}

/* Finds the next item of this pass, or of the next one. */
static bool next_item(struct bcast_receive *receiver, struct chunk *chunk)
{
    const struct items *items;

    while (receiver->pass < PASS_COUNT) {
        if (receiver->pass_tree == receiver->trees) {
            receiver->pass++;
            receiver->pass_tree = receiver->pass_item = 0;
            continue;
        }
        items = &receiver->tree[receiver->pass_tree];
        if (receiver->pass_item == items->count) {
            receiver->pass_tree++;
            receiver->pass_item = 0;
            continue;
        }
        *chunk = (struct chunk){ receiver->pass_tree, receiver->pass_item, 0 };
        if (is_in_pass(&items->item[receiver->pass_item++], receiver->pass))
            return true;
    }
    return false;
}

static bool is_in_pass(const struct item *item, unsigned pass)
{
    return pass == PASS_HARD_LINKS ? item->state == ITEM_HARD
                                   : item->state == ITEM_DIR || item->state == ITEM_LINK;
}

static void finish_item(struct bcast_receive *receiver, struct chunk chunk)
{
    const struct item *item = bcast_receive_item(receiver, chunk);
    struct safe_place  place;

    if (item->state == ITEM_HARD)
        link_file(receiver, chunk);
    else if (bcast_receive_find(receiver, chunk.tree, item->path, &place) < 0)
        bcast_receive_failed(receiver, chunk, item->path, "find the directory", errno);
    else if (item->state == ITEM_DIR)
        finish_dir(receiver, chunk, &place);
    else if (receiver->ops->dangling != NULL && is_dangling(&place))
        receiver->ops->dangling(chunk.tree, chunk.file, receiver->arg);
}

static void link_file(struct bcast_receive *receiver, struct chunk chunk)
{
    const struct item *item = bcast_receive_item(receiver, chunk), *file;
    struct safe_place  from, to;
    int                rc = -1, error;

    file = bcast_receive_item(receiver,
                              (struct chunk){ chunk.tree, (uint32_t)item->size, 0 });
    if (!items_is_file(file)) {
        receiver->ops->failed(chunk.tree, chunk.file, item->path, "make the hard link",
                              "the file itself did not arrive", false, receiver->arg);
        return;
    }
    if (safe_find(receiver->tree[chunk.tree].root_fd, file->path, &from) == 0) {
        if (bcast_receive_find(receiver, chunk.tree, item->path, &to) == 0)
            rc = make_hard_link(&from, &to);
        error = errno;
        close(from.dir_fd);
        errno = error;
    }
    if (rc < 0)
        bcast_receive_failed(receiver, chunk, item->path, "make the hard link", errno);
}

/* rename(2) does nothing between two names of one file, and then leaves the temporary one: between
 * our look and our rename, another node with the same disk may have made this link. */
static int make_hard_link(const struct safe_place *from, const struct safe_place *to)
{
    struct stat file, now;
    char        temporary[SAFE_TEMPORARY_BYTES];
    int         error = 0;

    if (fstatat(from->dir_fd, from->name, &file, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (!S_ISREG(file.st_mode)) {
        errno = ELOOP;
        return -1;
    }
    if (fstatat(to->dir_fd, to->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
        now.st_dev == file.st_dev && now.st_ino == file.st_ino)
        return 0;
    safe_temporary(temporary);
    if (link_now(from, to->dir_fd, temporary) < 0)
        return -1;
    if (safe_replace(to, temporary) < 0)
        error = errno;
    unlinkat(to->dir_fd, temporary, 0);
    errno = error;
    return error == 0 ? 0 : -1;
}

/* link(2) finds the file, and then says ENOENT if that is no longer what has this name: another
 * node with the same disk may have replaced it. */
static int link_now(const struct safe_place *from, int dir_fd, const char *name)
{
    struct stat file;
    int         rc, tries = 0;

    do
        rc = linkat(from->dir_fd, from->name, dir_fd, name, 0);
    while (rc < 0 && errno == ENOENT && ++tries < LINK_TRIES &&
           fstatat(from->dir_fd, from->name, &file, AT_SYMLINK_NOFOLLOW) == 0);
    return rc;
}

/* A directory that belongs to another user keeps its mode and time. */
static void finish_dir(struct bcast_receive *receiver, struct chunk chunk,
                       const struct safe_place *place)
{
    const struct item    *item = bcast_receive_item(receiver, chunk);
    const struct timespec times[] = { item->mtime, item->mtime };
    int fd = openat(place->dir_fd, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = fd < 0 ? -1 : bcast_receive_dir_mode(fd, item->mode);

    if (rc == 0)
        rc = futimens(fd, times);
    if (rc < 0 && errno != EPERM && errno != EACCES)
        bcast_receive_failed(receiver, chunk, item->path, "set the mode and time", errno);
    if (fd >= 0)
        close(fd);
}

/* What we may not see is not missing. */
static bool is_dangling(const struct safe_place *place)
{
    return faccessat(place->dir_fd, place->name, F_OK, 0) < 0 &&
           (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}
