/* group.h - groups ranks or nodes with the same text, so that it is printed once
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GROUP_H
#define MUSTER_GROUP_H

#include <stddef.h>

#include "plan/plan.h"

struct group {
    char  *key;    /* the same for all members */
    int   *member; /* ranks or node indexes, in the order added */
    size_t count;
};

/* Groups in the order of their first member. Initialize it as { 0 }. */
struct groups {
    struct group *group;
    size_t        count;
};

void groups_add(struct groups *groups, const char *key, int member);
void groups_sort(struct groups *groups); /* sorts the members of each group */
void groups_clear(struct groups *groups);

/* Returns "rank 4" or "ranks 0-2,5", with roles "ranks 0-2 of train, rank 0 of gen"; caller
 * frees. */
char *group_ranks(const struct group *group, const struct plan *plan);
/* Returns "te[1-3]" for a group of nodes; caller frees. */
char *group_hosts(const struct group *group, const struct plan *plan);

#endif
