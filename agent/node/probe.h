/* probe.h - can the other nodes reach this one, and by which interface?
 *
 * Node 0 listens on all its addresses and greets each caller with a token; the
 * other nodes call each of its addresses and report those where the token came
 * back: an address alone proves nothing, many machines have a 172.17.0.1.
 *
 * In the middle of a run each node listens for some seconds and calls some of the others,
 * and those that do not answer are reported, with the reason.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PROBE_H
#define MUSTER_AGENT_PROBE_H

#include <event2/event.h>
#include <jansson.h>

#include "err.h"

#define PROBE_ADDRESSES_MAX 256
#define PROBE_TIMEOUT_MAX_MS 60000

struct probe;

/* answer: the body of PROBED, which it owns. It may come at once. */
struct probe *probe_new(struct event_base *base, void (*answer)(json_t *body, void *arg),
                        void *arg);
void probe_free(struct probe *probe);

/* The body of a PROBE frame. It ends what the one before had begun, but "peers" lets it
 * listen. -1 with err when it is malformed. */
int  probe_request(struct probe *probe, const json_t *body, struct error *err);

/* PLAN or a stop has come: probing is over; only the port stays held. */
void probe_end(struct probe *probe);

/* The ranks start now: let the port go. Which one that was; 0: none. */
int  probe_release_port(struct probe *probe);

#endif
