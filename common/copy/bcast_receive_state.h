/* bcast_receive_state.h - the state that only bcast_receive.c (entries), bcast_chunks.c
 * (contents) and bcast_finish.c (what comes last) share
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
    enum bcast_links                links;
    struct items                   *tree; /* by number */
    uint32_t                        trees;
    uint32_t                        now;  /* the tree whose entries come now */
    char                            dir[ENTRY_PATH_MAX + 1]; /* the last directory received */
    char              failed[ENTRY_PATH_MAX + 1];            /* cannot be made; "": none */
    /* The last directory that was opened, while one frame is handled. */
    char                found[ENTRY_PATH_MAX + 1];
    uint32_t            found_tree;
    int                 found_fd; /* -1: none */
    struct chunk_rows   open;
    struct bcast_counts counts;
    struct chunk        complete[BCAST_SMALL_MAX]; /* small files that have no name yet */
    size_t              completed, small_files;
    unsigned char      *room; /* CHUNK_BYTES */
    /* How far bcast_receive_finish() is: the pass, and the next item. */
    unsigned pass;
    uint32_t pass_tree, pass_item;
};

/* bcast_receive.c: returns the item of a chunk's file; NULL: it was not announced. */
struct item *bcast_receive_item(const struct bcast_receive *receiver, struct chunk chunk);
/* Like safe_find(), but the receiver owns dir_fd, until bcast_receive_forget(). */
int  bcast_receive_find(struct bcast_receive *receiver, uint32_t tree, const char *path,
                        struct safe_place *place);
void bcast_receive_forget(struct bcast_receive *receiver);
/* Reports that the entry of this chunk cannot be written, because of the errno error. */
void bcast_receive_failed(struct bcast_receive *receiver, struct chunk chunk, const char *path,
                          const char *what, int error);

/* bcast_receive.c: sets the mode of a directory. Returns -1 with errno. */
int bcast_receive_dir_mode(int fd, uint32_t mode);

/* bcast_chunks.c: makes a file that has no contents. */
void bcast_chunks_empty(struct bcast_receive *receiver, struct item *item, struct chunk chunk);

#endif
