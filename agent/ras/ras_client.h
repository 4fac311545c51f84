/* ras_client.h - asks NCCL's RAS on this node for the state of its job
 *
 * The protocol is that of NCCL's own client, ncclras: lines, of which each is answered by one, and
 * then the whole answer until the end of the connection. NCCL asks its other processes first, for
 * 3 s at most. Whatever answers is limited in size and in time.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RAS_CLIENT_H
#define MUSTER_AGENT_RAS_CLIENT_H

#include <event2/event.h>

#include "err.h"
#include "ras/ras_reply.h"

#define RAS_CLIENT_S 10.0 /* for all of it */

/* A question that waits for its answer. */
struct ras_client;

/* reply: NULL with err: no answer, or none of NCCL's. Both are borrowed. The question is over then,
 * and ras_client_free() may be called here. */
typedef void ras_answer_f(const struct ras_reply *reply, const struct error *err, void *arg);

/* Asks at that port of 127.0.0.1; calls answer once, later. world_size: for ras_reply_read(). */
struct ras_client *ras_client_begin(struct event_base *base, int port, int world_size,
                                    ras_answer_f *answer, void *arg);
void ras_client_free(struct ras_client *client); /* NULL is fine; no callback follows */

#endif
