/* bcast_tree.h - files and directories of this machine that are sent to others
 *
 * What `muster bcast` is given, as entries (entry.h) below the directories where they will be on
 * each node. All of it is looked at once, before anything is sent. The contents are read later,
 * and a file that has changed in the meantime is refused.
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
    /* bcast_sums.c */
    unsigned char *sums;   /* NULL: none is known */
    uint32_t       summed; /* chunks */
    char          *fault;  /* why it cannot be sent after all; else NULL */
};

/* All that is sent below one directory of the nodes. */
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

/* Look at all paths. to: the directory where they are sent; NULL: the one where they are here. -1
 * with everything that is wrong in problems; trees_clear() in both cases. */
int  trees_read(struct trees *trees, const struct strlist *paths, const char *to,
                struct strlist *problems);
void trees_clear(struct trees *trees);

/* The item as it is sent; valid while item is. */
struct entry tree_entry(const struct tree_item *item);

/* Open a file for reading. -1 with err, also if it has changed. */
int tree_open(const struct trees *trees, const struct tree_item *item, struct error *err);
/* 0: the open file has not changed. -1 with err. */
int tree_check(const struct tree_item *item, int fd, struct error *err);

#endif
