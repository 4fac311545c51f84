/* hang.h - --hang-timeout: tell a run that does nothing from one that works
 *
 * Agents report with each heartbeat how long their ranks have done nothing. When all ranks have
 * done nothing for long enough, the hang becomes the cause of the run's end, whatever follows.
 * Before muster stops the run, it asks every agent where its ranks are (stacks.h) and whether
 * it reaches the other nodes (peers.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HANG_H
#define MUSTER_HANG_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "strlist.h"

struct run;
struct node;
struct hang;

/* Makes run->hang. */
void hang_open(struct run *run);
void hang_free(struct hang *hang); /* NULL is fine */
/* Forgets the last generation: another one follows, perhaps on other nodes. */
void hang_again(struct run *run);

/* Checks whether the run hangs. Called with each heartbeat. */
void hang_look(struct run *run);

/* Handle the frames IDLE and PROBED. */
void hang_take_idle(struct run *run, const struct node *node, const json_t *body);
void hang_take_probed(struct run *run, struct node *node, const json_t *body);

/* Adds lines about ranks that wait for each other in NCCL, if there are any. */
void hang_collectives(const struct run *run, struct strlist *lines);

/* Returns what NCCL says of each world that it knows, a new array for muster status. */
json_t *hang_collectives_json(const struct run *run);

/* Does the run hang, as far as is known? */
bool hang_is_seen(const struct run *run);
/* Has a hang ended the run? */
bool hang_is_over(const struct run *run);

/* Prints what the agents answered. Call it before the report of the outcome, which must be the
 * last thing on the screen. */
void hang_report(const struct run *run, FILE *out);

#endif
