/* generations.h - how each generation of a run before the last one ended
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GENERATIONS_H
#define MUSTER_GENERATIONS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define GENERATIONS_MOST 64 /* the last ones, which are kept */

struct outcome;
struct plan;

struct generations {
    struct past_generation {
        int         number;
        const char *role; /* borrowed from the plan; NULL: all ranks */
        int         status; /* what muster's exit status would have been */
        int64_t     first_start_ns, last_start_ns, last_end_ns; /* of its ranks; 0: not known */
        char       *text; /* "rank 3 on te2: killed by SIGKILL" */
        json_t     *evidence; /* evidence_json(); NULL: see the outcome */
    } item[GENERATIONS_MOST];
    size_t count;
};

/* Adds the generation of that world (the plan, or a role) that outcome describes. It is over,
 * with that exit status. */
void generations_add(struct generations *past, const struct outcome *outcome,
                     const struct plan *world, int status, const char *text);
void generations_clear(struct generations *past);

/* Returns all generations, with the one that outcome describes as the last: its number, the role
 * if only that one started again, exit_status, text, and the times at which its first and last
 * rank started and its last rank ended (Unix time). Those before the last one also have their
 * evidence (evidence.h), which the last one has in the outcome. */
json_t *generations_json(const struct outcome *outcome);

#endif
