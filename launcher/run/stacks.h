/* stacks.h - asks the agents of a run where its ranks are
 *
 * Every node whose ranks run is asked with STACKS, and answers with STACKED: at a hang, when
 * --timeout has passed, and when a user asks (muster stacks). Who asks is called back once all
 * nodes have answered, or after STACKS_S. Who asks in the meantime gets the same answer. A node
 * that is over, or leaves its generation, owes no answer any more.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_STACKS_H
#define MUSTER_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "err.h"
#include "strlist.h"

#define STACKS_S 15.0 /* agents take 10 s at most */

struct run;
struct node;
struct stacks;

/* Makes run->stacks. */
void stacks_open(struct run *run);
void stacks_free(struct stacks *stacks); /* NULL is fine */
/* Forgets the last generation: another one follows, perhaps on other nodes. */
void stacks_again(struct run *run);

/* Has the node ranks that it can be asked about? */
bool stacks_has_ranks(const struct run *run, size_t node);

/* Asks all nodes, unless they are being asked. known(run) is called once, from the event loop. */
void stacks_ask(struct run *run, void (*known)(struct run *run));

/* Handles STACKED. */
void stacks_take(struct run *run, struct node *node, uint32_t rank, const json_t *body);
/* The node is over, or waits for another generation. */
void stacks_node_left(struct run *run, const struct node *node);

/* Once they are known: writes these lines (NULL: none), what flight recorders show, and all stacks
 * to stacks.txt in the run directory. -1 with err. Does nothing if there is no directory. */
int stacks_write(const struct run *run, const struct strlist *lines, struct error *err);
/* The same: prints them, and where the rest is if they are long. */
void stacks_report(const struct run *run, FILE *out);

#endif
