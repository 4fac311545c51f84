/* flow.h - how much output each node may send (credit)
 *
 * A node may send as many bytes of OUTPUT as it has credit. PLAN gives it the first credit;
 * when bytes have come or have been written, CREDIT returns them. There are two limits: the
 * bytes that have come but are not written, which take our memory, and the bytes in flight,
 * which delay heartbeats. On a slow line at most what comes in a second or two may be in
 * flight, however much the buffers of sshd and TCP would take (with TCP's BBR that was 12 s at
 * 1 Mbit/s). Nothing here does I/O.
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

/* Makes room for this many nodes. Each place keeps its account. */
void flow_make_room(struct flow *flow, size_t nodes);

#define FLOW_FIRST (128u << 10) /* bytes in flight, before the rate of the node is measured */

/* The most bytes that a node may have sent but that are not yet written. */
uint32_t flow_window(const struct flow *flow);
/* Returns the credit to give a node with PLAN: the bytes that may be in flight, but at most a
 * window less the node's bytes not yet written. CREDIT sent earlier no longer counts. */
uint32_t flow_begin(struct flow *flow, size_t node);

/* Notes that size bytes of OUTPUT have come. -1: more than the node has credit for. */
int flow_take(struct flow *flow, size_t node, size_t size, int64_t now_ns);
/* Notes that bytes of that node have been written. */
void flow_written(struct flow *flow, size_t node, size_t bytes);
/* Returns the CREDIT to send after flow_take() or flow_written(); 0: not worth a frame yet. */
uint32_t flow_grant(struct flow *flow, size_t node);

/* Has the node used up its credit? Then its ranks wait until a reader takes their output. */
bool flow_is_used_up(const struct flow *flow, size_t node);
/* When output of any rank last came; 0: never. */
int64_t flow_last_ns(const struct flow *flow);

#endif
