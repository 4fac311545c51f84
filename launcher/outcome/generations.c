/* generations.c - see generations.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "outcome/generations.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "frame.h"
#include "outcome/outcome.h"
#include "xalloc.h"

static struct past_generation describe(const struct outcome *outcome, const struct plan *world,
                                       int status);
static json_t *json_of(const struct past_generation *past);
static json_t *unix_time(int64_t at_ns);

void generations_add(struct generations *past, const struct outcome *outcome,
                     const struct plan *world, int status, const char *text)
{
    if (past->count == GENERATIONS_MOST) {
        free(past->item[0].text);
        json_decref(past->item[0].evidence);
        memmove(&past->item[0], &past->item[1], (--past->count) * sizeof past->item[0]);
    }
    past->item[past->count] = describe(outcome, world, status);
    past->item[past->count].evidence = evidence_json(&outcome->evidence, outcome->plan);
    past->item[past->count++].text = xstrdup(text);
}

void generations_clear(struct generations *past)
{
    while (past->count > 0) {
        free(past->item[--past->count].text);
        json_decref(past->item[past->count].evidence);
    }
}

json_t *generations_json(const struct outcome *outcome)
{
    const struct past_generation last =
        describe(outcome, outcome->plan, outcome_status(outcome));
    json_t                      *list = json_array();
    size_t                       i;

    for (i = 0; i < outcome->past.count; i++)
        json_array_append_new(list, json_of(&outcome->past.item[i]));
    json_array_append_new(list, json_of(&last));
    return list;
}

static struct past_generation describe(const struct outcome *outcome, const struct plan *world,
                                       int status)
{
    struct past_generation made = { .number = plan_latest_generation(world),
                                    .role = world->role_name,
                                    .status = status };
    int                    rank;

    for (rank = world->first_rank; rank < world->first_rank + world->world_size; rank++) {
        const struct rank_end *end = &outcome->rank[rank];

        if (end->start_ns > made.last_start_ns)
            made.last_start_ns = end->start_ns;
        if (end->start_ns > 0 && (made.first_start_ns == 0 || end->start_ns < made.first_start_ns))
            made.first_start_ns = end->start_ns;
        if (end->end_ns > made.last_end_ns)
            made.last_end_ns = end->end_ns;
    }
    return made;
}

static json_t *json_of(const struct past_generation *past)
{
    json_t *made =
        json_pack("{s:i, s:i, s:o, s:o, s:o, s:o}", "generation", past->number, "exit_status",
                  past->status, "text",
                  past->text != NULL ? json_text(past->text, strlen(past->text)) : json_null(),
                  "first_start", unix_time(past->first_start_ns), "last_start",
                  unix_time(past->last_start_ns), "last_end", unix_time(past->last_end_ns));

    if (past->role != NULL)
        json_object_set_new(made, "role", json_string(past->role));
    if (past->evidence != NULL)
        json_object_set(made, "evidence", past->evidence);
    return made;
}

/* Converts a time of the monotonic clock to Unix time; 0: not known. */
static json_t *unix_time(int64_t at_ns)
{
    struct timespec now;

    if (at_ns == 0)
        return json_null();
    clock_gettime(CLOCK_REALTIME, &now);
    return json_real((double)now.tv_sec + (double)now.tv_nsec / 1e9 +
                     (double)(at_ns - clock_now_ns()) / 1e9);
}
