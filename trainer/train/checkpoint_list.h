/* checkpoint_list.h - the checkpoints in a directory, from the oldest to the newest
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHECKPOINT_LIST_H
#define MUSTER_CHECKPOINT_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "err.h"

struct checkpoint_list {
    struct checkpoint_entry {
        int64_t         step;
        struct timespec written;
        char           *tag;
    } *item;
    size_t count;
};

/* Lists the directories with the name global_stepN and a shard. Which one is newer says the time
 * at which it was written, since a training may go back to an earlier step. dir may be missing:
 * then the list is empty. Free with checkpoint_list_clear(). */
void checkpoint_list_read(struct checkpoint_list *list, const char *dir);
void checkpoint_list_clear(struct checkpoint_list *list);

/* Deletes the oldest checkpoints until the number keep is left, but never the one that latest
 * or best names. Call it when latest names the newest. -1 with err if one cannot be deleted. */
int checkpoint_list_prune(const char *dir, int64_t keep, struct error *err);

#endif
