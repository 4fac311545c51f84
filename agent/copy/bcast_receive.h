/* bcast_receive.h - files and directories that muster bcast brings to this node
 *
 * Trusts nothing that comes: every path is found beneath the directory that was named
 * first, and neither a symbolic link that the sender has sent nor one that was here
 * before is ever followed. What cannot be written is told of, and the rest goes on; who
 * breaks the rules gets -1, and err says how.
 *
 * A file of the same size and time of modification is taken to be the same, and not wanted
 * again. Nothing is removed; see file.h for how a file comes.
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
    /* Entry number cannot be had: what was tried, and why not. is_all: nor can any other. */
    void (*failed)(uint32_t number, const char *what, const char *why, bool is_all, void *arg);
};

struct bcast_receive;

struct bcast_receive *bcast_receive_new(const struct bcast_receive_ops *ops, void *arg);
/* A file that has not come as a whole is gone again. */
void bcast_receive_free(struct bcast_receive *receiver);

/* A tree begins: root is where, an absolute path, and made if it is not there; a file that
 * has not come as a whole never will. Unlike all below it, root is followed through symbolic links:
 * the user has named it. -1: it cannot be had. */
int bcast_receive_root(struct bcast_receive *receiver, const char *root, struct error *err);

/* The body of ENTRIES: make directories and links, and append to wanted the numbers of the
 * files that must come, as u32. */
int bcast_receive_entries(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                          struct buffer *wanted, struct error *err);

/* The bodies of FILE and DATA. */
int bcast_receive_file(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                       struct error *err);
int bcast_receive_data(struct bcast_receive *receiver, const unsigned char *body, size_t size,
                       struct error *err);

#endif
