/* ras.h - NCCL's RAS (NCCL 2.24 and later) for the ranks of this node
 *
 * The agent gives the ranks an address of their own in NCCL_RAS_ADDR. The RAS threads of all
 * processes of a job know each other, so that one of them answers for all nodes. Ranks without NCCL
 * never listen there: a question to them is refused at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RAS_H
#define MUSTER_AGENT_RAS_H

#include <event2/event.h>
#include <jansson.h>

#include "plan/node_plan.h"
#include "strlist.h"

struct ras;

/* Never fails. No port is held yet. */
struct ras *ras_new(struct event_base *base);
void        ras_free(struct ras *ras); /* NULL is fine; releases the port */

/* Sets NCCL_RAS_ADDR in env, the environment of which those of the ranks are made, unless that or
 * the plan has NCCL_RAS_ADDR or NCCL_RAS_ENABLE=0. The port is the same for all generations. */
void ras_prepare(struct ras *ras, const struct node_plan *plan, struct strlist *env);

/* Asks; calls told once, later or at once, with the body of COLLECTIVES, which it then owns. Does
 * nothing while an earlier question waits for its answer. */
void ras_ask(struct ras *ras, void (*told)(json_t *body, void *arg), void *arg);
/* The ranks are gone: no answer follows. */
void ras_forget(struct ras *ras);

#endif
