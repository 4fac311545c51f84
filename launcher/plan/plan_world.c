/* plan_world.c - the world of a rank, and the rank's name there
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "plan/plan.h"

const struct plan *plan_world_of_rank(const struct plan *plan, int rank)
{
    size_t i = plan->roles;

    while (i > 0)
        if (rank >= plan->role[--i].first_rank)
            return &plan->role[i];
    return plan;
}

int plan_latest_generation(const struct plan *plan)
{
    int    latest = plan->generation;
    size_t i;

    for (i = 0; i < plan->roles; i++)
        if (plan->role[i].generation > latest)
            latest = plan->role[i].generation;
    return latest;
}

const char *plan_rank_name(const struct plan *plan, int rank, char name[PLAN_RANK_NAME])
{
    const struct plan *world = plan_world_of_rank(plan, rank);

    if (world->role_name == NULL)
        snprintf(name, PLAN_RANK_NAME, "rank %d", rank);
    else
        snprintf(name, PLAN_RANK_NAME, "rank %d of %s", rank - world->first_rank,
                 world->role_name);
    return name;
}
