/* bcast_receive.h - writes the files, directories and links that muster bcast sends to this node
 *
 * The receiver does not trust the sender: it resolves every path below the tree's root, and
 * follows no symbolic link, neither one that the sender sent nor one that existed before. It
 * reports an entry that cannot be written, and continues with the rest. If the sender breaks
 * the rules, functions return -1 with err.
 *
 * A symbolic link is made as it is, and may lead anywhere, since we never follow it. The caller
 * may forbid links that lead out of the tree: a user might follow them later.
 *
 * A file of the same size and modification time counts as the same, and is not requested. For
 * other files the launcher sends the hash of each chunk (chunk.h). Chunks that are here already
 * are copied. The rest may come from the launcher or from another node, in any order, and is
 * checked. No file is removed. bcast_file.h describes how a file is received.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_RECEIVE_H
#define MUSTER_AGENT_BCAST_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "copy/chunk.h"
#include "copy/chunk_rows.h"
#include "err.h"

struct bcast_receive_ops {
    /* This entry cannot be written: what was tried, and why it failed. path: below the root.
     * is_all: no other entry can be written either. */
    void (*failed)(uint32_t tree, uint32_t number, const char *path, const char *what,
                   const char *why, bool is_all, void *arg);
    /* What this symbolic link leads to is not here. NULL: it does not matter. */
    void (*dangling)(uint32_t tree, uint32_t number, void *arg);
};

enum bcast_links { BCAST_LINKS_WITHIN, BCAST_LINKS_ANY };

/* Totals since the beginning. A row is settled when its chunk is here, or will never come. */
struct bcast_counts {
    uint64_t rows, files, bytes; /* bytes: those that had to be sent */
};

struct bcast_receive;

/* small_files: how many files of one chunk may wait for each other, each with two descriptors;
 * at most BCAST_SMALL_MAX. */
#define BCAST_SMALL_MAX 128
struct bcast_receive *bcast_receive_new(const struct bcast_receive_ops *ops, void *arg,
                                        enum bcast_links links, size_t small_files);
/* Removes incomplete files, except those that the next bcast can continue. */
void bcast_receive_free(struct bcast_receive *receiver);

/* Begins a tree. The launcher chooses its number, below BCAST_TREES_MAX. root: an absolute
 * path, created if it does not exist. Unlike all paths below it, root may contain symbolic
 * links, because the user named it. Returns -1 if root cannot be used. */
#define BCAST_TREES_MAX 1024
int bcast_receive_root(struct bcast_receive *receiver, uint32_t tree, const char *root,
                       struct error *err);

/* Takes the body of ENTRIES, for the tree that began last: makes directories and symbolic links,
 * and appends the numbers of the files that must be sent to wanted, as u32. */
int bcast_receive_entries(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                          struct buffer *wanted, struct error *err);

/* Takes the body of SUMS. Each row stays open until its chunk is here. */
int bcast_receive_sums(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                       struct error *err);

/* Gives complete small files their names, if it is time. Small files wait for each other,
 * because a disk writes many at once in the time of one. Call this after each of the other
 * functions. */
void bcast_receive_settle(struct bcast_receive *receiver);

/* Takes a chunk. Returns true if it is the right one or not needed; false if its contents are
 * wrong, so that the chunk is still missing. */
bool bcast_receive_chunk(struct bcast_receive *receiver, struct chunk chunk, const void *bytes,
                         size_t size);
/* The launcher sent wrong contents: the file has changed there. */
void bcast_receive_spoilt(struct bcast_receive *receiver, struct chunk chunk);

/* Does what must wait until all files are here: makes hard links, sets modes and times of
 * directories, and looks for dangling links. Call it when every row is settled, until it returns
 * true: each call does a bounded part. */
bool bcast_receive_finish(struct bcast_receive *receiver);

/* Returns 0 if the chunk is unknown, or if its file was given up;
 * bcast_receive_was_announced() distinguishes the two. */
size_t bcast_receive_chunk_size(const struct bcast_receive *receiver, struct chunk chunk);
bool   bcast_receive_was_announced(const struct bcast_receive *receiver, struct chunk chunk);

/* Returns the open rows, for the caller to request. */
struct chunk_rows *bcast_receive_rows(struct bcast_receive *receiver);

const struct bcast_counts *bcast_receive_counts(const struct bcast_receive *receiver);

/* Reads a chunk for another node. Returns 1 with the chunk in bytes; 0: it may still come; -1:
 * it will not. */
int bcast_receive_read(struct bcast_receive *receiver, struct chunk chunk, void *bytes,
                       size_t *size);

#endif
