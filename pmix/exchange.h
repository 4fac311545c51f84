/* exchange.h - gives every node what each node has, over the PMI-1 of the agent
 *
 * To the agent muster-pmix is the ranks of this node, with one connection for each: see
 * agent/rank/pmi.h. The data of a node travels as keys and values of PMI, in base64; its barrier
 * makes them known everywhere. This module does no I/O: lines in, lines out.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PMIX_EXCHANGE_H
#define MUSTER_PMIX_EXCHANGE_H

#include <stddef.h>

#include <event2/buffer.h>

#include "err.h"

struct exchange;

/* node: this one, of so many; ranks: its ranks. Sends to out[0] ... out[ranks - 1], which are
 * borrowed. */
struct exchange *exchange_new(int nodes, int node, int ranks, struct evbuffer *const *out);
void             exchange_free(struct exchange *exchange);

/* Offers this node's bytes, and waits for those of the other nodes. Only one at a time. */
void exchange_begin(struct exchange *exchange, const void *bytes, size_t size);

/* Takes complete lines that answer local rank `local` out of in. 1: the exchange is over, call
 * exchange_take(); 0: it is not; -1 with err: it has failed, and no other may begin. */
int exchange_input(struct exchange *exchange, int local, struct evbuffer *in, struct error *err);

/* Returns the bytes of all nodes, one after another, and their size; the caller frees them. */
char *exchange_take(struct exchange *exchange, size_t *size);

/* What the agent must know about a rank: it has begun to use MPI, it has finished, or it wants the
 * run to end. */
void exchange_rank_begins(struct exchange *exchange, int local);
void exchange_rank_finishes(struct exchange *exchange, int local);
void exchange_rank_aborts(struct exchange *exchange, int local, int code);

#endif
