/* ready_report.c - see ready_report.h
 *
 * To find which processes have the GPUs open or have filled /dev/shm, the agent examines
 * all processes. It does so only for a run that could suffer from them: never for `muster
 * exec`, not without GPUs, not while /dev/shm has space. Processes that an earlier run has
 * left are only reported: the user may have wanted them to stay, or a batch system may have
 * passed our variables on.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/ready_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup/orphans.h"
#include "node/gpu_holders.h"
#include "node/named_devices.h"
#include "node/shm.h"
#include "plan/gpus.h"
#include "session/agent.h"

#define LEFT_MAX   16 /* processes reported */
#define LEFT_OLD_S 10 /* younger ones may be about to exit: their run has just died */

/* NCCL takes some MiB for each pair of ranks, PyTorch's loaders more. */
#define SHM_SCARCE (64 << 20)

#define DEVICES_MAX 16 /* named, of those that are here */

static json_t *left_here(const struct agent *agent);
static bool    is_left(const struct agent *agent, const struct orphan *orphan);
static json_t *holders_of_ours(const struct agent *agent);
static json_t *devices_lacking(const struct strlist *env);
static void    add_lacking(json_t *list, const char *variable, const char *value);

json_t *ready_report_body(const struct agent *agent)
{
    json_t *body = json_object();
    char    words[64];
    int64_t free_bytes;

    containment_words(&agent->guard.contain, words, sizeof words);
    json_object_set_new(body, "containment", json_string(words));
    if (agent->plan.is_exec)
        return body;
    json_object_set_new(body, "gpu_holders", holders_of_ours(agent));
    json_object_set_new(body, "left", left_here(agent));
    if (agent->ranks.count > 0)
        json_object_set_new(body, "lacking", devices_lacking(&agent->ranks.rank[0].env));
    free_bytes = shm_free();
    if (agent->ranks.count > 1 && free_bytes < SHM_SCARCE)
        json_object_set_new(body, "shm", json_pack("{s:I, s:o}", "free", (json_int_t)free_bytes,
                                                   "stale",
                                                   shm_stale(geteuid() != 0)));
    return body;
}

/* Lists processes of this user's other runs that have no agent which could still end them. */
static json_t *left_here(const struct agent *agent)
{
    /* A rank's agent is older than the rank. */
    struct orphans orphans = { .started_by = process_ticks_ago(LEFT_OLD_S), .own_network = true };
    json_t        *left = json_array();
    size_t         i;

    orphans_look(&orphans);
    for (i = 0; i < orphans.count && json_array_size(left) < LEFT_MAX; i++) {
        struct orphan *orphan = &orphans.item[i];

        if (!is_left(agent, orphan))
            continue;
        json_object_set_new(orphan->about, "run", json_text(orphan->run, strlen(orphan->run)));
        json_array_append(left, orphan->about);
    }
    orphans_clear(&orphans);
    return left;
}

static bool is_left(const struct agent *agent, const struct orphan *orphan)
{
    return orphan_is_left(orphan) && strcmp(orphan->run, agent->plan.run_id) != 0 &&
           json_integer_value(json_object_get(orphan->about, "age_s")) >= LEFT_OLD_S;
}

static json_t *holders_of_ours(const struct agent *agent)
{
    bool wanted[GPU_MAX] = { false };

    return gpu_holders(plan_gpus(&agent->plan, wanted) ? wanted : NULL);
}

/* Lists the variables of a rank's environment that name network devices which are not here. Here
 * the environment is whole: what the login sets, what the user gave, and what a script set. */
static json_t *devices_lacking(const struct strlist *env)
{
    json_t     *list = json_array();
    const char *value, *is_off = env_get(env, "NCCL_IB_DISABLE");
    size_t      i;

    for (i = 0; named_devices_variables[i] != NULL; i++) {
        value = env_get(env, named_devices_variables[i]);
        if (value == NULL || (strncmp(named_devices_variables[i], "NCCL_IB_", 8) == 0 &&
                              is_off != NULL && strcmp(is_off, "1") == 0))
            continue;
        add_lacking(list, named_devices_variables[i], value);
    }
    return list;
}

static void add_lacking(json_t *list, const char *variable, const char *value)
{
    struct strlist there = { 0 };
    json_t        *names;
    size_t         i;

    named_devices_there(variable, &there);
    if (named_devices_lack(variable, value, &there)) {
        names = json_array();
        for (i = 0; i < there.count && i < DEVICES_MAX; i++)
            json_array_append_new(names, json_text(there.item[i], strlen(there.item[i])));
        json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "variable", variable, "value",
                                              json_text(value, strlen(value)), "there", names));
    }
    strlist_clear(&there);
}
