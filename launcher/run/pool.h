/* pool.h - the hosts of a run that can lose nodes, and connections to the hosts without a place
 *
 * A spare is connected and checked like a node of the world: its agent has prepared ranks,
 * stopped again, and waits as all agents do between two generations. elastic/membership.h
 * decides which hosts are needed and which must wait; the pool carries that out. A member has
 * the index of its host.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_POOL_H
#define MUSTER_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "elastic/membership.h"
#include "plan/plan.h"
#include "plan/select.h"

struct run;
struct node;
struct node_ops;
struct pool;

/* Makes a pool of all hosts that the plan was made from; the hosts in the plan have places.
 * ops: the callbacks of nodes without a place; their argument is the run. */
struct pool *pool_new(struct run *run, const struct node_ops *ops);
void         pool_free(struct pool *pool); /* NULL is fine */

struct membership *pool_members(const struct run *run);
const char        *pool_name(const struct run *run, size_t which);
/* Returns the member's host, with at most this many of its slots; slot is borrowed. */
struct selected pool_host(const struct run *run, size_t which, int slots);
/* Returns a plan for a world of that member alone, while it is connected. */
const struct plan *pool_plan(const struct run *run, size_t which);

/* Makes a node for the member, to be connected. NULL: there can be no plan for it; the user
 * knows why. */
struct node *pool_make_node(struct run *run, size_t which);
/* Takes the member's node out for a place: the caller owns it now. NULL: the pool has none. */
struct node *pool_take(struct run *run, size_t which);
/* The member loses its place: the pool owns its node now. */
void pool_put(struct run *run, size_t which, struct node *node);
/* Makes a node without a place leave. */
void pool_leave(struct run *run, size_t which);
/* Passes on which hosts are listed now; those that are new may take part. save_s: the time that
 * ranks have to save where a host is no longer listed. */
void pool_offer(struct run *run, const struct selection *hosts, double save_s);

/* The member has passed the check; its node is over: warns once, however often muster tries to
 * connect. Call pool_tidy() when nothing of its agent is left. */
void pool_joined(struct run *run, size_t which);
void pool_over(struct run *run, size_t which);
/* Frees nodes that are gone, in the next turn of the loop, when no caller uses them any more.
 */
void pool_tidy(struct run *run);

/* The run ends: makes all spares leave. True: none is left; else run_changed() is called when
 * one more is gone. */
bool pool_end(struct run *run);
bool pool_is_ending(const struct run *run);

/* Called with each heartbeat: a silent spare gets no place until it is heard again. */
void pool_look(struct run *run);

/* All nodes by number: those of the world, then the spares. NULL: no node has that number. */
size_t       pool_nodes(const struct run *run);
struct node *pool_node(const struct run *run, size_t number);

#endif
