/* checkpoint_fixture.h - checkpoints of a small model, whose values follow from the step
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHECKPOINT_FIXTURE_H
#define MUSTER_CHECKPOINT_FIXTURE_H

#include "err.h"
#include "zero/zero.h"

#define TOTAL  300000 /* 3.6 MB of data: some blocks, also with a few ranks */
#define MODEL  0x1234567890abcdefULL
#define RANKS_BEHIND 3 /* at most */

/* Where they are, once mkdtemp() has replaced the X. */
extern char saves[];

/* What one rank of a world holds, in memory of its own, its elements set to a step's. */
struct share {
    struct zero_piece *piece;
    int                count;
};

struct share share_new(int rank, int ranks, size_t bucket_max, int step);
void         share_clear(struct share *share);

/* All ranks of a world save, one after the other. 0, or -1 with err. */
int checkpoint_save(int ranks, int step, struct error *err);
/* The same by threads, from copies: what they were made of changes meanwhile. */
int checkpoint_save_behind(int ranks, int step, struct error *err);

/* All ranks of another world load, with other buckets. 0, or -1 with err. */
int checkpoint_load(int ranks, int step, struct error *err);

/* Empties the directory. */
void checkpoint_remove_all(void);

#endif
