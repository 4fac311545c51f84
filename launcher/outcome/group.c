/* group.c - see group.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "hostrange.h"
#include "number.h"
#include "xalloc.h"

static int  by_number(const void *a, const void *b);
static void add_ranks(struct buffer *text, const int *rank, size_t count, const struct plan *world);

void groups_add(struct groups *groups, const char *key, int member)
{
    struct group *group;
    size_t        i;

    for (i = 0; i < groups->count && strcmp(groups->group[i].key, key) != 0; i++)
        ;
    if (i == groups->count) {
        groups->group = xreallocarray(groups->group, ++groups->count, sizeof *groups->group);
        groups->group[i] = (struct group){ .key = xstrdup(key) };
    }
    group = &groups->group[i];
    group->member = xreallocarray(group->member, group->count + 1, sizeof *group->member);
    group->member[group->count++] = member;
}

void groups_sort(struct groups *groups)
{
    size_t i;

    for (i = 0; i < groups->count; i++)
        qsort(groups->group[i].member, groups->group[i].count, sizeof(int), by_number);
}

static int by_number(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return (left > right) - (left < right);
}

void groups_clear(struct groups *groups)
{
    size_t i;

    for (i = 0; i < groups->count; i++) {
        free(groups->group[i].key);
        free(groups->group[i].member);
    }
    free(groups->group);
    *groups = (struct groups){ 0 };
}

char *group_ranks(const struct group *group, const struct plan *plan)
{
    struct buffer      text = { 0 };
    const struct plan *world;
    size_t             i, end;

    for (i = 0; i < group->count; i = end) {
        world = plan_world_of_rank(plan, group->member[i]);
        for (end = i + 1; end < group->count; end++)
            if (plan_world_of_rank(plan, group->member[end]) != world)
                break;
        buffer_add_text(&text, i > 0 ? ", " : "");
        add_ranks(&text, &group->member[i], end - i, world);
    }
    buffer_add(&text, "", 1);
    return text.bytes;
}

/* Adds "ranks 0-3,5", of a role "ranks 0-3,5 of train". */
static void add_ranks(struct buffer *text, const int *rank, size_t count, const struct plan *world)
{
    buffer_add_text(text, count == 1 ? "rank " : "ranks ");
    number_add_ranges(text, rank, count, world->first_rank);
    if (world->role_name != NULL) {
        buffer_add_text(text, " of ");
        buffer_add_text(text, world->role_name);
    }
}

char *group_hosts(const struct group *group, const struct plan *plan)
{
    struct strlist hosts = { 0 };
    char          *names;
    size_t         i;

    for (i = 0; i < group->count; i++)
        strlist_add(&hosts, plan_label(&plan->node[group->member[i]]));
    names = hostrange_fold(&hosts);
    strlist_clear(&hosts);
    return names;
}
