/* term_order.h - who gets TERM first when a rank must end
 *
 * A rank that saves a checkpoint on TERM still needs its processes: if those that load its data get
 * TERM with it, it waits for data that never comes, and the checkpoint is lost. So TERM goes to the
 * rank alone, and to the others when it has ended, or late in the grace.
 *
 * A rank may be a shell, or a program that starts another one and does not handle TERM. Then the
 * topmost processes below it that do handle TERM get it, too: they are what saves. If there is none
 * below a shell, all of that rank's processes get TERM at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_TERM_ORDER_H
#define MUSTER_AGENT_TERM_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "node/process.h"

struct term_order {
    struct process *first; /* those that get TERM first */
    size_t          count;
};

/* Chooses among the processes below each rank. Start from { 0 }, free with term_order_clear(). */
void term_order_choose(struct term_order *order, const pid_t *ranks, size_t count);
void term_order_clear(struct term_order *order);

/* Signals those that come first. */
void term_order_begin(const struct term_order *order);

/* Is one of them alive? */
bool term_order_waits(const struct term_order *order);

/* Signals all processes below root but those that came first: some programs end at once at a
 * second TERM. */
void term_order_finish(const struct term_order *order, pid_t root);

#endif
