/* rank_stacks.h - where many ranks are, as text: ranks that are at the same place are shown once
 *
 *     ranks 0-5,7 of train on te[1-2]:
 *     pid 4711: python3 train.py
 *       thread 4711 python3: S (sleeping) in futex_wait_queue
 *
 * Two ranks are at the same place if their texts differ only in the numbers of processes and
 * threads, in addresses, and in the numbers of their command lines. The text is that of the first
 * of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RANK_STACKS_H
#define MUSTER_RANK_STACKS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "buffer.h"
#include "outcome/group.h"
#include "plan/plan.h"

#define RANK_STACKS_MAX (16u << 20) /* bytes of texts; further ones are left out */

/* Initialize it as { 0 }. */
struct rank_stacks {
    struct groups groups;
    char        **text; /* of each group: of its lowest rank */
    size_t        size; /* of all texts */
    bool          is_full; /* some were left out */
};

/* Adds the text of a rank, as it came from the node. Call it once for each rank. */
void rank_stacks_add(struct rank_stacks *stacks, int rank, const char *text);

/* Appends all of it to out, as whole lines that are safe to print, the lowest ranks first. */
void rank_stacks_write(struct rank_stacks *stacks, const struct plan *plan, struct buffer *out);

/* Returns the same as a new array, the lowest ranks first:
 * [{"ranks":[{"rank":0, "node":"te1"}], "text":"..."}]; with roles, each rank has its "role". */
json_t *rank_stacks_json(struct rank_stacks *stacks, const struct plan *plan);

void rank_stacks_clear(struct rank_stacks *stacks);

#endif
