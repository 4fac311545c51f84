/* stacks.h - shows where each rank of this node is, as text for users
 *
 * For every process of a rank: its state, and for every thread what it waits for in the
 * kernel. If the node has py-spy (for Python) or gdb: their stacks too. These helpers run
 * outside the ranks' namespace, for at most STACKS_S. Without py-spy, Python shows its stacks
 * itself, if PLAN has a signal for that (rank/python_stack.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_STACKS_H
#define MUSTER_AGENT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define STACKS_S        10
#define STACKS_TEXT_MAX (64u << 10) /* of one rank; the rest is left out */

struct agent;
struct stacks;

/* Names to the ranks, which are not forked yet, the signal of PLAN, and a file for each of them. */
void stacks_prepare(struct agent *agent);
/* The generation is over: removes the files. */
void stacks_forget(struct agent *agent);

/* Calls told with the body of STACKED for each running rank, then once with {"end":true}. */
struct stacks *stacks_begin(struct agent *agent,
                            void (*told)(uint32_t rank, json_t *body, void *arg), void *arg);
/* Has it called told with the end? */
bool stacks_are_told(const struct stacks *stacks);
/* Kills the helpers. Call it before ranks_clear(). */
void stacks_free(struct stacks *stacks);

#endif
