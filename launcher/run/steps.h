/* steps.h - which steps of a training the ranks have reported
 *
 * Agents find them in the output of their ranks, and send them with their heartbeats.
 * --hang-timeout and muster status use them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STEPS_H
#define MUSTER_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "elastic/hang_rule.h"
#include "elastic/step_history.h"
#include "elastic/step_reach.h"
#include "err.h"
#include "strlist.h"

struct node;
struct plan;
struct run;
struct steps;

/* Makes run->steps. */
void steps_open(struct run *run);
void steps_free(struct steps *steps); /* NULL is fine */
/* The ranks of a world, which may be one role, start again. */
void steps_again(struct run *run, const struct plan *world);
/* The next generation has another number of ranks. */
void steps_make_room(struct run *run);

/* Handles STEPS. -1 with err: the body is not what doc/PROTOCOL says. */
int steps_take(struct run *run, const struct node *node, const json_t *body, struct error *err);

/* Returns how far the steps of that world have come (a role, or the plan without roles). */
const struct step_reach *steps_reach(const struct run *run, const struct plan *world);

/* Returns the highest step of all generations of a world, which may be one role, or the plan; -1:
 * none, or not known. And what has shown the last one: "DeepSpeed". */
int64_t     steps_most(const struct run *run, const struct plan *world);
const char *steps_form(const struct run *run, const struct plan *world);

/* Fills in step_s, is_last_step and pace: of the ranks that still run. now_ns: clock_now_ns(). */
void steps_signs(const struct run *run, int64_t now_ns, struct hang_signs *signs);

/* Sets the lowest and the highest of the last steps that ranks of that world have reported, also
 * ranks that have ended since. False: none has a number. */
bool steps_range(const struct run *run, const struct plan *world, int64_t *lowest,
                 int64_t *highest);

/* Sets the highest of the last steps that ranks of that node have reported which still run, and
 * when that was. False: none has a number. */
bool steps_of_node(const struct run *run, const struct node *node, int64_t *step, int64_t *at_ns);

/* Adds a sentence about the last steps of the ranks: who is where. Nothing if none has a step. */
void steps_words(const struct run *run, struct strlist *lines);

/* Adds "step", "step_form" and "step_ns" to the state of a rank, if it has reported one. */
void steps_add_rank(const struct run *run, int rank, json_t *body);
/* Returns the steps of the rank that has reported first, by clock_now_s(), over all generations. */
const struct step_history *steps_history(const struct run *run);
/* Returns the last step of a rank, -1: none, or it has no number; and the last loss that any rank
 * has reported. False: none has. */
int64_t steps_of(const struct run *run, int rank);
bool    steps_loss(const struct run *run, double *loss);

/* Returns what is known of the whole run, a new object; null: no step was reported. */
json_t *steps_json(const struct run *run);

#endif
