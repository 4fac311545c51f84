/* generations.h - the generations of a run before the last one: how each ended
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GENERATIONS_H
#define MUSTER_GENERATIONS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define GENERATIONS_MOST 64 /* are kept, the last ones */

struct outcome;

struct generations {
    struct past_generation {
        int     number;
        int     status; /* the exit status that muster would have returned */
        int64_t first_start_ns, last_start_ns, last_end_ns; /* of its ranks; 0: none is known */
        char   *text;   /* "rank 3 on te2: killed by SIGKILL" */
    } item[GENERATIONS_MOST];
    size_t count;
};

/* That generation is over, and another one follows. */
void generations_add(struct generations *past, const struct outcome *outcome, const char *text);
void generations_clear(struct generations *past);

/* Of all, and of the one that outcome is about, as the last: number, exit_status, text, and when
 * the first and the last rank was executed and the last one was gone (Unix time). */
json_t *generations_json(const struct outcome *outcome);

#endif
