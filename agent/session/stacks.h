/* stacks.h - shows where each rank of this node is, as text for users
 *
 * For every process of a rank: its state, and for every thread what it waits for in the
 * kernel. If the node has py-spy (for Python) or gdb: their stacks too. These helpers run
 * outside the ranks' namespace, for at most STACKS_S.
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

/* Calls told with the body of STACKED for each running rank, then once with {"end":true}. */
struct stacks *stacks_begin(struct agent *agent,
                            void (*told)(uint32_t rank, json_t *body, void *arg), void *arg);
/* Has it called told with the end? */
bool stacks_are_told(const struct stacks *stacks);
/* Kills the helpers. */
void stacks_free(struct stacks *stacks);

#endif
