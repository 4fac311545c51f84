/* bcast_tree.h - files and directories of this machine that go to the nodes
 *
 * What `muster bcast` is given, as entries (entry.h) below the directories that they will
 * be in on each node. All of it is looked at, once and before anything is sent; the
 * contents are read later, and a file that has changed since is not the one that was
 * promised.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BCAST_TREE_H
#define MUSTER_BCAST_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "entry.h"
#include "strlist.h"

#define TREE_ITEMS_MAX (1u << 20) /* files, directories and links in all */

struct tree_item {
    enum entry_type type;
    uint32_t        mode;
    uint64_t        size;
    struct timespec mtime;
    dev_t           device;
    ino_t           inode;
    char           *path;   /* below the tree's root; begins with the name of what was given */
    char           *target; /* of a link; else NULL */
    size_t          source; /* which of those given it is or is in */
};

/* All that goes below one directory of the nodes. */
struct tree {
    char             *root; /* absolute */
    char             *here; /* the directory that they are in on this machine; NULL: several */
    struct tree_item *item; /* each directory before what is in it, sorted within */
    size_t            items, room;
    uint64_t          files, bytes;
};

struct trees {
    struct tree   *tree;
    size_t         count;
    struct strlist source; /* absolute paths, as they were given */
};

/* Look at all paths. to: the directory that they go into; NULL: where they are here. -1
 * with all that speaks against it in problems; trees_clear() either way. */
int  trees_read(struct trees *trees, const struct strlist *paths, const char *to,
                struct strlist *problems);
void trees_clear(struct trees *trees);

/* As it is sent; valid as long as item is. */
struct entry tree_entry(const struct tree_item *item);

/* Open a file for reading. -1 with err, also when it is not what was seen. */
int tree_open(const struct trees *trees, const struct tree_item *item, struct error *err);
/* 0: fd is still what was seen. */
int tree_check(const struct tree_item *item, int fd, struct error *err);

#endif
