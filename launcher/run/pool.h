/* pool.h - the hosts of a run that goes on, and the connections to those without a place
 *
 * A spare is connected and checked as a node of the world is: its agent has prepared ranks and
 * ended them again, and waits as all agents do between two generations. Who is needed, and who has
 * to wait, elastic/members.h decides; here it is carried out. A member's index is that of its host.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_POOL_H
#define MUSTER_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "elastic/members.h"
#include "plan/plan.h"

struct run;
struct node;
struct pool;

/* All hosts that the plan was made from; those of the plan have their places. */
struct pool *pool_new(const struct run *run, const struct member_rules *rules);
void         pool_free(struct pool *pool); /* NULL is fine */

struct members *pool_members(const struct run *run);
const char     *pool_name(const struct run *run, size_t which);
size_t          pool_find(const struct run *run, const char *name); /* MEMBERS_NONE: it is none */
/* Its host, with so many of its slots; slot is borrowed. */
struct selected pool_host(const struct run *run, size_t which, int slots);

/* Connect it and check it: it becomes a spare, or fails; then generation_changed(). */
void pool_connect(struct run *run, size_t which);
/* It gets a place: the caller owns its node now. NULL: it is not here. */
struct node *pool_take(struct run *run, size_t which);
/* It loses its place. The node, which stays, is the pool's now; it leaves if it has to. */
void pool_put(struct run *run, size_t which, struct node *node);
/* A spare is to go. */
void pool_leave(struct run *run, size_t which);
/* Its cloud takes the node away: if it is a spare, it leaves. False: it has a place. */
bool pool_take_notice(struct run *run, struct node *node, double left_s, const char *reason);
/* Those that are new may take part. The others go on as they were. */
void pool_offer(struct run *run, const struct selection *hosts);

/* The run ends: all leave. True: nobody is here any more; else phase_maybe_end() when they have
 * left. */
bool pool_end(struct run *run);

/* With each heartbeat: a spare that is silent gets no place until it is heard again. */
void pool_look(struct run *run);

size_t pool_count(const struct run *run); /* of the hosts */

/* Every node that there is: those of the world, then the spares; NULL: none has that number. */
size_t       pool_nodes(const struct run *run);
struct node *pool_node(const struct run *run, size_t number);

#endif
