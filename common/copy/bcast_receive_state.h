/* bcast_receive_state.h - what bcast_receive.c (entries) and bcast_chunks.c (contents) share, and
 * nobody else
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_RECEIVE_STATE_H
#define MUSTER_AGENT_BCAST_RECEIVE_STATE_H

#include "copy/bcast_items.h"
#include "copy/bcast_receive.h"
#include "copy/safe_openat.h"
#include "entry.h"

struct bcast_receive {
    const struct bcast_receive_ops *ops;
    void                           *arg;
    struct items                   *tree; /* by number */
    uint32_t                        trees;
    uint32_t                        now;  /* the one whose entries come */
    char                            dir[ENTRY_PATH_MAX + 1]; /* the last directory that has come */
    char              failed[ENTRY_PATH_MAX + 1];            /* one that cannot be made; "": none */
    /* The last directory that was looked into, while one frame is dealt with. */
    char                found[ENTRY_PATH_MAX + 1];
    uint32_t            found_tree;
    int                 found_fd; /* -1: none */
    struct chunk_rows   open;
    struct bcast_counts counts;
    struct chunk        complete[BCAST_SMALL_MAX]; /* small files that have no name yet */
    size_t              completed, small_files;
    unsigned char      *room; /* CHUNK_BYTES */
};

/* bcast_receive.c: the entry of a chunk's file; NULL: it was not announced. */
struct item *bcast_receive_item(const struct bcast_receive *receiver, struct chunk chunk);
/* As safe_find(), but dir_fd is not the caller's to close. It is known until it is forgotten. */
int  bcast_receive_find(struct bcast_receive *receiver, uint32_t tree, const char *path,
                        struct safe_place *place);
void bcast_receive_forget(struct bcast_receive *receiver);
/* The entry of this chunk cannot be written, because of that errno. */
void bcast_receive_failed(struct bcast_receive *receiver, struct chunk chunk, const char *path,
                          const char *what, int error);

/* bcast_chunks.c: make a file that has no contents. */
void bcast_chunks_empty(struct bcast_receive *receiver, struct item *item, struct chunk chunk);

#endif
