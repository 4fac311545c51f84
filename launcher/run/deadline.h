/* deadline.h - when a run must end, and when its end must be over
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DEADLINE_H
#define MUSTER_DEADLINE_H

#include <stdbool.h>

#include <jansson.h>

struct run;
struct node;
struct deadline;

struct deadline *deadline_new(struct run *run);
void             deadline_free(struct deadline *deadline); /* NULL is fine */
/* Another generation begins. */
void deadline_reset(struct deadline *deadline);
/* There are so many nodes now. */
void             deadline_make_room(struct deadline *deadline, size_t nodes);
/* --timeout: it has passed. */
bool deadline_has_passed(const struct deadline *deadline);

/* --timeout, if there is one, counts from now, unless it does already. */
void deadline_start(struct run *run);

/* The nodes were told to stop, by KILL after grace_s. An agent must confirm the end in
 * time, or it is lost. */
void deadline_stop(struct run *run, double grace_s);

/* A rank has failed: stop the others in so many seconds, if nothing else does. Is that so now? */
void deadline_await_others(struct run *run, double seconds);
bool deadline_awaits_others(const struct deadline *deadline);

/* DUMPING has come: DONE will be late, since killed processes write their core files. */
void deadline_take_dumping(struct run *run, struct node *node, const json_t *body);

#endif
