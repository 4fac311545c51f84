/* pool.h - the hosts of a run that can lose nodes, and connections to the hosts without a place
 *
 * A spare is connected and checked like a node of the world: its agent has prepared ranks,
 * stopped again, and waits as all agents do between two generations. elastic/members.h decides
 * which hosts are needed and which must wait; the pool carries that out. A member has the index
 * of its host.
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

/* Makes a pool of all hosts that the plan was made from; the hosts in the plan have places. */
struct pool *pool_new(const struct run *run, const struct member_rules *rules);
void         pool_free(struct pool *pool); /* NULL is fine */

struct members *pool_members(const struct run *run);
const char     *pool_name(const struct run *run, size_t which);
size_t          pool_find(const struct run *run, const char *name); /* MEMBERS_NONE: none */
/* Returns the member's host, with at most this many of its slots; slot is borrowed. */
struct selected pool_host(const struct run *run, size_t which, int slots);

/* Connects the member and checks it: it becomes a spare, or fails. Then generation_changed() is
 * called. */
void pool_connect(struct run *run, size_t which);
/* Takes the member's node out for a place: the caller owns it now. NULL: the pool has none. */
struct node *pool_take(struct run *run, size_t which);
/* The member loses its place: the pool owns its node now, which stays, or leaves if it must. */
void pool_put(struct run *run, size_t which, struct node *node);
/* Makes a spare leave. */
void pool_leave(struct run *run, size_t which);
/* The node's cloud takes it away: if it is a spare, it leaves. False: it has a place. */
bool pool_take_notice(struct run *run, struct node *node, double left_s, const char *reason);
/* Notes which hosts are listed now. New hosts may take part; connected nodes stay as they
 * are. */
void pool_offer(struct run *run, const struct selection *hosts);

/* The run ends: makes all spares leave. True: none is left; else phase_maybe_end() is called
 * when they have left. */
bool pool_end(struct run *run);

/* Called with each heartbeat: a silent spare gets no place until it is heard again. */
void pool_look(struct run *run);

size_t pool_count(const struct run *run); /* of hosts */

/* All nodes by number: those of the world, then the spares. NULL: no node has that number. */
size_t       pool_nodes(const struct run *run);
struct node *pool_node(const struct run *run, size_t number);

#endif
