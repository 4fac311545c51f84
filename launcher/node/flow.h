/* flow.h - how much output each node may send: credit
 *
 * A node may send as many bytes of OUTPUT as it has credit. PLAN gives it some at first; bytes that
 * have come or have been written come back to it as CREDIT. Two limits hold: what has come and is
 * not written, which is our memory; and what is on its way, which heartbeats have to wait for. On a
 * thin line that is what comes in a second or two, however much the buffers of sshd and TCP would
 * take (with TCP's BBR that was 12 s at 1 Mbit/s).
 * Nothing here does I/O.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FLOW_H
#define MUSTER_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow;

struct flow *flow_new(size_t nodes);
void         flow_free(struct flow *flow); /* NULL is fine */

/* There are so many nodes now; each place keeps its account. */
void flow_make_room(struct flow *flow, size_t nodes);

#define FLOW_FIRST (128u << 10) /* on the way, before it is known how much comes in a second */

/* The most that a node may have sent that is not yet written, in bytes. */
uint32_t flow_window(const struct flow *flow);
/* The credit to give a node with PLAN: what may be on its way, but not more than a window less what
 * is not yet written of it. CREDIT that was sent before counts no more. */
uint32_t flow_begin(struct flow *flow, size_t node);

/* size bytes of OUTPUT have come. -1: more than the node had credit for. */
int flow_take(struct flow *flow, size_t node, size_t size, int64_t now_ns);
/* bytes of that node have been written. */
void flow_written(struct flow *flow, size_t node, size_t bytes);
/* The CREDIT to send now, after either; 0: not worth a frame yet. */
uint32_t flow_grant(struct flow *flow, size_t node);

/* The node has used up its credit: its ranks wait until a reader takes their output. */
bool flow_is_used_up(const struct flow *flow, size_t node);
/* When output of a rank last came; 0: never. */
int64_t flow_last_ns(const struct flow *flow);

#endif
