/* origin.h - the node that has the files in `muster bcast NODE:PATH`
 *
 * muster asks this node for entries, hashes and chunks, as muster collect does. It keeps the
 * answers for the other nodes: all entries, then hashes as they are needed, and some chunks for
 * nodes that do not get theirs from another node.
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

/* Finds the origin that the user names; bcast->origin stays NULL for files of this machine.
 * Returns 0, or the exit status after it reported the error to the user. The tree that it adds
 * to bcast has its root, but no items yet. */
int  origin_find(const struct run *run, struct bcast *bcast);
void origin_free(struct origin *origin); /* NULL is fine */

/* Is node the origin? False if there is no origin. */
bool origin_is(const struct bcast *bcast, const struct node *node);
/* Are all entries known? Also true if there is no origin. */
bool origin_is_listed(const struct bcast *bcast);
/* Could the origin not list all named paths? Then muster sends nothing. */
bool origin_has_failed(const struct bcast *bcast);

/* Begin with the origin once it has answered, and handle its frames; false: a frame violates
 * the protocol. When all entries are known, and when hashes or a chunk have come, they pump the
 * other nodes. */
void origin_begin(struct run *run, struct node *node);
bool origin_take(struct run *run, struct node *node, const struct frame *frame,
                 const json_t *body);

/* Like sum_of(), but also returns NULL if the hash is not yet known; then it requests the
 * hash. */
const unsigned char *origin_hash(struct run *run, uint32_t file, uint32_t index);
/* Reads part of a chunk whose hash is known. 1: it is in bytes; 0: it was requested; -1 with
 * err. */
int origin_read(struct run *run, struct chunk chunk, uint64_t at, void *bytes, size_t size,
                struct error *err);

#endif
