/* generation_words.h - messages to the user between two generations
 *
 *     generation 2: node te3 lost (silent 15 s); te5 takes its place; 16 ranks on 4 nodes
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GENERATION_WORDS_H
#define MUSTER_GENERATION_WORDS_H

#include <stddef.h>

#include "elastic/policy.h"

#define GENERATION_WORDS_SIZE 1200 /* longer texts are truncated */

struct failed_rank;
struct plan;
struct run;

/* Writes how this generation ended: "rank 3 on te2: killed by SIGKILL". lost: the nodes that
 * are gone, folded ("te[3-4]"), or NULL. */
void generation_why_words(const struct run *run, const char *lost,
                          char text[GENERATION_WORDS_SIZE]);

/* Writes how that rank failed. */
void generation_rank_words(const struct run *run, const struct failed_rank *failed,
                           char text[GENERATION_WORDS_SIZE]);

/* Report that MASTER_PORT was taken, and why no other generation follows, of a role or (NULL) of
 * the run. missing: a node that is gone, or NULL. */
void generation_tell_port(const struct run *run, const struct policy_event *event);
void generation_tell_end(const struct run *run, const char *role,
                         const struct policy_event *event, enum policy_why why,
                         const char *missing);
/* Returns that so many generations in a row, of the run or of a role, have made no progress: up to
 * which step and checkpoint, and what to do. Caller frees. */
char *generation_stall_words(const struct run *run, const struct plan *world, int stalls);
/* Warns about nodes that ended many generations. */
void generation_tell_suspects(const struct run *run);

/* Report the next generation, which the plan already describes: it has the same world (the plan,
 * or only a role; restart: its number; 0: it does not count), or another world, or waits for
 * nodes. */
void generation_tell_same(const struct plan *world, const char *why, double delay_s, int restart);
void generation_tell_world(const struct run *run, const char *why, const char *changes,
                           int restarts);
void generation_tell_park(const struct run *run, const char *why,
                          const struct policy_rules *rules);

/* Returns which nodes take which places: "; te5 takes its place". Call it before the plan
 * changes. Caller frees. */
char *generation_changes(const struct run *run, const char *lost, const size_t *world,
                         size_t places);
/* Returns the nodes that will have no place: "node[3-4]", or "muster" if all will have one.
 * Caller frees. */
char *generation_too_many(const struct run *run, const struct member_rules *rules);

/* Prints where the last generation hung. */
void generation_tell_hang(const struct run *run);

/* Returns the name of a node that was lost or does not stay; NULL: all stay. */
const char *generation_missing(const struct run *run);

#endif
