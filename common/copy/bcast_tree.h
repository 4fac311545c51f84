/* bcast_tree.h - files and directories of this machine that are sent to others
 *
 * Lists the paths that the user names, as entries (entry.h) below the directories that will
 * contain them on the other machines. muster bcast examines all files before it sends anything;
 * an agent does so step by step, on request. The contents are read later, and a file that has
 * changed in the meantime is refused.
 *
 * A file with several names in one tree is sent once; its other names are hard links. If a file
 * has an ACL, its mode is the one that it would have without: the group bits of a file with an ACL
 * are a mask, and would give the group on another machine more than it has here.
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

#define TREE_ITEMS_MAX    (1u << 20) /* files, directories and links in total */
#define TREE_PROBLEMS_MAX 64         /* more are only counted */

enum tree_links {
    TREE_LINKS_COPY,   /* as they are */
    TREE_LINKS_WITHIN, /* as they are; one that may lead out of the tree is a problem */
    TREE_LINKS_FOLLOW, /* what they lead to; nothing is a problem */
    TREE_LINKS_SKIP,
};

/* Their names in frames, in this order; ends with NULL. */
extern const char *const tree_links_words[];

/* What is sent of the paths. */
struct tree_rules {
    enum tree_links       links;
    const struct strlist *exclude; /* patterns (path_pattern.h); NULL: none */
    const struct strlist *ignored; /* absolute paths, sorted; NULL: none */
    const char           *name;    /* of the only path on the nodes; NULL: the same as here */
};

struct tree_item {
    enum entry_type type;
    uint32_t        mode;
    uint64_t        size; /* as in struct entry */
    struct timespec mtime;
    dev_t           device;
    ino_t           inode;
    char           *path;   /* below the tree's root; begins with the given path's last name */
    char           *target; /* of a link; else NULL */
    size_t          source; /* which given path it is or is in */
    /* bcast_sums.c */
    unsigned char *sums;   /* NULL: no hash is known */
    uint32_t       summed; /* chunks hashed */
    char          *fault;  /* why it cannot be sent after all; else NULL */
};

/* All items that are sent below one directory of the nodes. */
struct tree {
    char             *root; /* absolute */
    char             *here; /* the directory that has them on this machine; NULL: several */
    struct tree_item *item; /* each directory before its contents, which are sorted */
    size_t            items, room;
    uint64_t          files, bytes;
    struct first_names *names; /* of files with several names; NULL: none */
};

struct trees {
    struct tree_rules rules;
    bool             *has_matched; /* by pattern */
    struct tree   *tree;
    size_t         count;
    struct strlist source;    /* absolute paths, as they were given */
    size_t        *source_of; /* the tree of each source */
    size_t         walked;    /* sources done */
    size_t         unlisted;  /* problems after TREE_PROBLEMS_MAX */
    void          *walk;      /* an FTS of the next source; NULL: not started */
};

/* Notes the paths. to: the directory that receives them; NULL: the same as here. The lists of rules
 * must outlive trees. Call trees_clear() in any case. */
void trees_begin(struct trees *trees, const struct strlist *paths, const char *to,
                 const struct tree_rules *rules, struct strlist *problems);
/* Examines all of them. Returns -1 with all faults, also those of trees_begin(), in problems. */
int  trees_read(struct trees *trees, struct strlist *problems);
/* The same in steps: examines one file or directory at a time, until it returns false. Files with a
 * problem are left out. */
bool trees_step(struct trees *trees, struct strlist *problems);
void trees_clear(struct trees *trees);

/* Returns path, prefixed by the current directory if it is relative, and without "." and
 * doubled slashes, but with "..". The caller frees it. NULL with errno: the current directory
 * is gone. */
char *tree_absolute(const char *path);

/* Appends an item, and takes ownership of its strings. */
void tree_add(struct tree *tree, const struct tree_item *item);

/* Returns the item as it is sent; valid while item is. */
struct entry tree_entry(const struct tree_item *item);

/* Opens a file for reading. Returns -1 with err, also if the file has changed. */
int tree_open(const struct trees *trees, const struct tree_item *item, struct error *err);
/* Does this symbolic link lead to something on this machine? */
bool tree_link_leads(const struct trees *trees, const struct tree_item *item);
/* Returns 0 if the open file has not changed, otherwise -1 with err. */
int tree_check(const struct tree_item *item, int fd, struct error *err);

#endif
