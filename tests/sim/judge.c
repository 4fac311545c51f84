/* judge.c - see judge.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "sim/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "xalloc.h"

static bool has_to_leave(const struct cluster *cluster, size_t which);
static bool is_allowed(const struct cluster *cluster, const size_t *world, size_t places);

void judge_hosts(struct cluster *cluster)
{
    size_t i;

    for (i = 0; i < cluster->members.count && cluster->state <= SAVING; i++)
        if (cluster->members.item[i].state == MEMBER_IN && has_to_leave(cluster, i))
            judge_wrong(cluster, "a generation lives on host%zu, which had to leave", i + 1);
}

static bool has_to_leave(const struct cluster *cluster, size_t which)
{
    const struct cluster_host *host = &cluster->host[which];

    return fmin(host->drain_s, host->cloud_s) <= cluster->now_s;
}

void judge_world(struct cluster *cluster, const size_t *world, size_t places)
{
    const struct membership *members = &cluster->members;
    bool                    *has_place = xcalloc(members->count, sizeof *has_place);
    size_t                   i;

    if (!is_allowed(cluster, world, places))
        judge_wrong(cluster, "a world of %zu nodes is not allowed", places);
    for (i = 0; i < places; i++) {
        const struct member *member = &members->item[world[i]];

        if (has_place[world[i]])
            judge_wrong(cluster, "host%zu has two places", world[i] + 1);
        if ((member->state != MEMBER_IN && member->state != MEMBER_SPARE) ||
            cluster->host[world[i]].is_unlisted || has_to_leave(cluster, world[i]))
            judge_wrong(cluster, "host%zu has a place, but was lost, or had to leave",
                        world[i] + 1);
        has_place[world[i]] = true;
    }
    free(has_place);
}

static bool is_allowed(const struct cluster *cluster, const size_t *world, size_t places)
{
    const struct member_rules *rules = &cluster->rules->members;
    int                        ranks = 0;
    size_t                     i;

    if (!rules->is_elastic)
        return places == (size_t)cluster->job->nodes;
    for (i = 0; i < places; i++)
        ranks += cluster->members.item[world[i]].slots;
    if (places == 0 || places < rules->min_nodes ||
        (rules->max_nodes > 0 && places > rules->max_nodes))
        return false;
    for (i = 0; i < rules->worlds_count; i++)
        if (rules->worlds[i] == ranks)
            return true;
    return rules->worlds_count == 0;
}

void judge_growth(struct cluster *cluster)
{
    if (cluster->state > SAVING)
        judge_wrong(cluster, "STOP, but no generation is alive");
    if (cluster->now_s < cluster->changed_s + cluster->rules->grow_s - 1)
        judge_wrong(cluster, "it grows again after %.0f s",
                    cluster->now_s - cluster->changed_s);
}

void judge_end(struct cluster *cluster, enum policy_why why)
{
    const double waited_s = cluster->now_s - cluster->ended_s;

    if (why == POLICY_WHY_MAX_WAIT && fabs(waited_s - cluster->rules->max_wait_s) > 1)
        judge_wrong(cluster, "it waited for %.0f s", waited_s);
    if (cluster->rules->members.goes_on && cluster->result->status == 69)
        judge_wrong(cluster, "it ends because of a node");
    if (cluster->result->status == 0 && cluster->done < cluster->job->work - 1e-6)
        judge_wrong(cluster, "it ends well, but is not done");
}

/* Returns the exit status, as documented for muster. */
int judge_status(const struct cluster *cluster, enum policy_why why)
{
    if (why == POLICY_WHY_NONE)
        return 0;
    if (why == POLICY_WHY_MAX_WAIT)
        return 75;
    if (why == POLICY_WHY_NODE || cluster->end == POLICY_END_NODE)
        return 69;
    return cluster->job->code;
}

void judge_wrong(struct cluster *cluster, const char *format, ...)
{
    struct result *result = cluster->result;
    va_list        arguments;
    int            used;

    if (result->wrong[0] != '\0')
        return;
    used = snprintf(result->wrong, sizeof result->wrong,
                    "at %.0f s, generation %d: ", cluster->now_s, result->generations - 1);
    va_start(arguments, format);
    vsnprintf(result->wrong + used, sizeof result->wrong - (size_t)used, format, arguments);
    va_end(arguments);
}
