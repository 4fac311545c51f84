/* origin.h - the node that has the files, for `muster bcast NODE:PATH`
 *
 * It is asked for entries, hashes and chunks as by muster collect, and what it says is kept for the
 * other nodes: all entries, then hashes as they are needed, and some chunks for the nodes that do
 * not get theirs from another one.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ORIGIN_H
#define MUSTER_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "copy/chunk.h"
#include "err.h"
#include "frame.h"

struct run;
struct node;
struct bcast;
struct origin;

/* What the user names; *origin NULL: files of this machine. 0, or the exit status, and the user was
 * told what is wrong. The tree that it makes in bcast has its root, and no items yet. */
int  origin_find(const struct run *run, struct bcast *bcast);
void origin_free(struct origin *origin); /* NULL is fine */

/* Is this the node? False without an origin. */
bool origin_is(const struct bcast *bcast, const struct node *node);
/* All entries are known, or there is no origin. */
bool origin_is_listed(const struct bcast *bcast);
/* It could not give everything that was named: nothing is sent. */
bool origin_has_failed(const struct bcast *bcast);

/* The node has answered; a frame of it has come: false if it breaks the rules. When all entries are
 * known, and when a hash or a chunk has come, the other nodes are pumped. */
void origin_begin(struct run *run, struct node *node);
bool origin_take(struct run *run, struct node *node, const struct frame *frame,
                 const json_t *body);

/* As sum_of(); NULL also if it is not known yet, and was asked for. */
const unsigned char *origin_hash(struct run *run, uint32_t file, uint32_t index);
/* Some of a chunk whose hash is known. 1: it is in bytes; 0: it was asked for; -1 with err. */
int origin_read(struct run *run, struct chunk chunk, uint64_t at, void *bytes, size_t size,
                struct error *err);

#endif
