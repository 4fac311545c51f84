/* bcast_tree.h - files and directories of this machine that are sent to others
 *
 * What the user names, as entries (entry.h) below the directories where they will be there. All
 * of it is looked at once: by muster bcast before anything is sent, by an agent step by step, as
 * it is asked. The contents are read later, and a file that has changed in the meantime is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BCAST_TREE_H
#define MUSTER_BCAST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "entry.h"
#include "strlist.h"

#define TREE_ITEMS_MAX    (1u << 20) /* files, directories and links in all */
#define TREE_PROBLEMS_MAX 16         /* more of them tell nobody anything new */

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
    struct strlist source;    /* absolute paths, as they were given */
    size_t        *source_of; /* the tree of each */
    size_t         walked;    /* sources */
    void          *walk;      /* an FTS, of the next one; NULL: it has not begun */
};

/* Look at all paths. to: the directory where they are sent; NULL: the one where they are here. -1
 * with everything that is wrong in problems; trees_clear() in both cases. */
int  trees_read(struct trees *trees, const struct strlist *paths, const char *to,
                struct strlist *problems);
void trees_clear(struct trees *trees);

/* The same in steps: begin, and look at one thing after the other until it is false. What has a
 * problem is left out; the walk ends when there are TREE_PROBLEMS_MAX. */
void trees_begin(struct trees *trees, const struct strlist *paths, const char *to,
                 struct strlist *problems);
bool trees_step(struct trees *trees, struct strlist *problems);

/* Below this directory where it is relative; without "." and doubled slashes, with "..". Caller
 * frees; NULL with errno: this directory is gone. */
char *tree_absolute(const char *path);

/* Append an item, whose texts it takes over. */
void tree_add(struct tree *tree, const struct tree_item *item);

/* The item as it is sent; valid while item is. */
struct entry tree_entry(const struct tree_item *item);

/* Open a file for reading. -1 with err, also if it has changed. */
int tree_open(const struct trees *trees, const struct tree_item *item, struct error *err);
/* 0: the open file has not changed. -1 with err. */
int tree_check(const struct tree_item *item, int fd, struct error *err);

#endif
