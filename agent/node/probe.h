/* probe.h - can other nodes reach this one, and on which interface?
 *
 * At the start node 0 listens on all its addresses and sends a token to each caller. The
 * other nodes connect to each of its addresses and report those where the token came back:
 * an address alone proves nothing, since many machines have a 172.17.0.1.
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

/* answer gets the body of PROBED and owns it. It may be called at once. */
struct probe *probe_new(struct event_base *base, void (*answer)(json_t *body, void *arg),
                        void *arg);
void probe_free(struct probe *probe);

/* Do what the body of a PROBE frame asks. Ends what the request before started, except that
 * "peers" and "port" keep the listener. -1 with err if it is malformed. */
int  probe_request(struct probe *probe, const json_t *body, struct error *err);

/* GO or a stop came: end all probing; only the port stays held. */
void probe_end(struct probe *probe);

/* The ranks start now: release the port. Returns its number; 0: none. */
int  probe_release_port(struct probe *probe);

#endif
