/* gpus.c - see gpus.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/gpus.h"

#include <stdlib.h>

#include "node/gpu.h"
#include "strlist.h"

static bool gpus_of(const struct node_plan_rank *rank, bool *wanted);

bool plan_gpus(const struct node_plan *plan, bool *wanted)
{
    int i;

    for (i = 0; i < plan->ranks; i++)
        if (!gpus_of(&plan->rank[i], wanted))
            return false;
    return true;
}

/* False if the GPUs are not given by number (UUIDs, MIG). */
static bool gpus_of(const struct node_plan_rank *rank, bool *wanted)
{
    const char *list = env_get(&rank->env, "CUDA_VISIBLE_DEVICES");
    char       *end;
    long        gpu;

    if (list == NULL)
        return false;
    while (*list != '\0') {
        gpu = strtol(list, &end, 10);
        if (end == list || (*end != ',' && *end != '\0') || gpu < 0 || gpu >= GPU_MAX)
            return false;
        wanted[gpu] = true;
        list = end + (*end == ',');
    }
    return true;
}
