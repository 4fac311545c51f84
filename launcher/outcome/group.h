/* group.h - group ranks or nodes by what they have in common, so that it is said once
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GROUP_H
#define MUSTER_GROUP_H

#include <stddef.h>

#include "plan/plan.h"

struct group {
    char  *key;    /* the same for all of them */
    int   *member; /* in the order added: ranks, or node indexes */
    size_t count;
};

/* In order of their first member. Start from { 0 }. */
struct groups {
    struct group *group;
    size_t        count;
};

void groups_add(struct groups *groups, const char *key, int member);
void groups_sort(struct groups *groups); /* the members of each */
void groups_clear(struct groups *groups);

/* "rank 4", "ranks 0-2,5"; caller frees. */
char *group_ranks(const struct group *group);
/* "te[1-3]", of nodes; caller frees. */
char *group_hosts(const struct group *group, const struct plan *plan);

#endif
