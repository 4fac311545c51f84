/* probe.h - can other nodes reach this one, and on which interface?
 *
 * At the start node 0 listens on all its addresses and sends a token to each caller. The other
 * nodes connect to each of its addresses and report those that returned the token: an address
 * alone proves nothing, since many machines have a 172.17.0.1. With --master_addr all nodes, node 0
 * too, connect to the addresses of that name as well, which the caller has looked up.
 *
 * During a run each node listens for some seconds and connects to some of the others. It
 * reports those that do not answer, with the reason.
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

/* Calls answer with the body of PROBED, which answer owns. May call it at once. */
struct probe *probe_new(struct event_base *base, void (*answer)(json_t *body, void *arg),
                        void *arg);
void probe_free(struct probe *probe);

/* Handles the body of a PROBE frame. "listen" ends what the previous request started; the others
 * keep the listener. -1 with err if the body is malformed. */
int  probe_request(struct probe *probe, const json_t *body, struct error *err);

/* Ends all probing, on GO or a stop; only the port stays held. */
void probe_end(struct probe *probe);

/* The ranks start now: releases the port. Returns its number; 0: none. */
int  probe_release_port(struct probe *probe);

#endif
