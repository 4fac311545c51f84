/* bcast_receive.h - write the files and directories that muster bcast sends to this node
 *
 * Nothing that is received is trusted: every path is resolved below the directory named
 * first, and no symbolic link is followed, neither one that the sender sent nor one that
 * was there before. An entry that cannot be written is reported, and the rest continues. A
 * sender that breaks the rules gets -1 with err.
 *
 * A file of the same size and modification time is taken to be the same, and is not asked
 * for again. Nothing is removed. bcast_file.h says how a file is received.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_RECEIVE_H
#define MUSTER_AGENT_BCAST_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "err.h"

struct bcast_receive_ops {
    /* This entry cannot be written: what was tried, and why it failed. is_all: no other
     * entry can be written either. */
    void (*failed)(uint32_t number, const char *what, const char *why, bool is_all, void *arg);
};

struct bcast_receive;

struct bcast_receive *bcast_receive_new(const struct bcast_receive_ops *ops, void *arg);
/* An incomplete file is removed. */
void bcast_receive_free(struct bcast_receive *receiver);

/* A tree begins. root: an absolute path, created if it does not exist. An incomplete file of
 * the tree before is dropped. Unlike all paths below it, root may contain symbolic links:
 * the user named it. -1: it cannot be used. */
int bcast_receive_root(struct bcast_receive *receiver, const char *root, struct error *err);

/* The body of ENTRIES: make directories and links, and append the numbers of the files to be
 * sent to wanted, as u32. */
int bcast_receive_entries(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                          struct buffer *wanted, struct error *err);

/* The bodies of FILE and DATA. */
int bcast_receive_file(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                       struct error *err);
int bcast_receive_data(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                       struct error *err);

#endif
