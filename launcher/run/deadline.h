/* deadline.h - when a run must end, and how long its end may take
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DEADLINE_H
#define MUSTER_DEADLINE_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

struct run;
struct node;
struct plan;
struct deadline;

struct deadline *deadline_new(struct run *run);
void             deadline_free(struct deadline *deadline); /* NULL is fine */
/* Clears all but --timeout: another generation begins. */
void deadline_reset(struct deadline *deadline);
/* Makes room for this many nodes. */
void             deadline_make_room(struct deadline *deadline, size_t nodes);
/* Has --timeout passed? */
bool deadline_has_passed(const struct deadline *deadline);

/* Starts --timeout, if there is one, unless it already runs. Once it has passed, muster asks where
 * the ranks are (stacks.h), and then stops the run. */
void deadline_start(struct run *run);
/* Prints where they were, if it has passed. */
void deadline_report(const struct run *run, FILE *out);

/* Called when STOP is sent to the nodes of a world (the plan, or a role), with KILL after
 * grace_s. An agent must confirm in time that everything has stopped, or it is lost. */
void deadline_stop(struct run *run, const struct plan *world, double grace_s);
/* All of them have. */
void deadline_stopped(struct run *run, const struct plan *world);

/* A rank has failed: stops the others in this many seconds, unless something else stops them
 * first. Is that timer running? */
void deadline_await_others(struct run *run, double seconds);
bool deadline_awaits_others(const struct deadline *deadline);

/* Handles DUMPING: DONE will be late, since killed processes write their core files. */
void deadline_take_dumping(struct run *run, struct node *node, const json_t *body);

#endif
