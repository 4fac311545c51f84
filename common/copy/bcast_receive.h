/* bcast_receive.h - write the files and directories that muster bcast sends to this node
 *
 * Nothing that is received is trusted: every path is resolved below the directory named
 * first, and no symbolic link is followed, neither one that the sender sent nor one that
 * was there before. An entry that cannot be written is reported, and the rest continues. A
 * sender that breaks the rules gets -1 with err.
 *
 * A file of the same size and modification time is taken to be the same, and is not asked
 * for again. Of other files the launcher says the hash of each chunk (chunk.h). What is here
 * already is taken from here; the rest may come from the launcher or from another node, in any
 * order, and is checked. Nothing is removed. bcast_file.h says how a file is received.
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
};

/* Since the beginning. A row is settled when its chunk is here, or will never be. */
struct bcast_counts {
    uint64_t rows, files, bytes; /* bytes: that had to be sent */
};

struct bcast_receive;

/* small_files: how many of one chunk may wait for each other, each with two descriptors; at most
 * BCAST_SMALL_MAX. */
#define BCAST_SMALL_MAX 128
struct bcast_receive *bcast_receive_new(const struct bcast_receive_ops *ops, void *arg,
                                        size_t small_files);
/* Incomplete files are removed, but for those that the next bcast can continue. */
void bcast_receive_free(struct bcast_receive *receiver);

/* A tree begins; they are numbered as the launcher likes, below BCAST_TREES_MAX. root: an absolute
 * path, created if it does not exist. Unlike all paths below it, root may contain symbolic links:
 * the user named it. -1: it cannot be used. */
#define BCAST_TREES_MAX 1024
int bcast_receive_root(struct bcast_receive *receiver, uint32_t tree, const char *root,
                       struct error *err);

/* The body of ENTRIES, of the tree that began last: make directories and links, and append the
 * numbers of the files to be sent to wanted, as u32. */
int bcast_receive_entries(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                          struct buffer *wanted, struct error *err);

/* The body of SUMS. Each row stays open until its chunk is here. */
int bcast_receive_sums(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                       struct error *err);

/* Small files wait for each other, since a disk takes many at once in the time of one: give those
 * that are complete their names, if it is time. To be called after each of the others. */
void bcast_receive_settle(struct bcast_receive *receiver);

/* A chunk has come. True: it was the right one, or nobody waits for it; false: it was another
 * one, and is still missing. */
bool bcast_receive_chunk(struct bcast_receive *receiver, struct chunk chunk, const void *bytes,
                         size_t size);
/* It was the launcher that sent another one: the file changed there. */
void bcast_receive_spoilt(struct bcast_receive *receiver, struct chunk chunk);

/* 0: there is no such chunk, or its file was given up; the second one tells. */
size_t bcast_receive_chunk_size(const struct bcast_receive *receiver, struct chunk chunk);
bool   bcast_receive_was_announced(const struct bcast_receive *receiver, struct chunk chunk);

/* The rows that are open, for the caller to ask for. */
struct chunk_rows *bcast_receive_rows(struct bcast_receive *receiver);

const struct bcast_counts *bcast_receive_counts(const struct bcast_receive *receiver);

/* For another node: 1: bytes is this chunk; 0: it may still come; -1: it will not. */
int bcast_receive_read(struct bcast_receive *receiver, struct chunk chunk, void *bytes,
                       size_t *size);

#endif
