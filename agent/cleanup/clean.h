/* clean.h - what earlier runs of this user have left on this node
 *
 * `muster clean` asks for it, and so does a run that has lost the agent of this node.
 * "orphans" in CLEAN limits it to processes of that run without an agent; if the agent
 * that was given up is stopped, to everything below that agent too, since its guard may be
 * stopped as well. An agent that was given up but runs has lost its launcher too: it ends
 * its ranks within their grace, so it is waited for. orphans.h says which processes are of
 * a run, and whether a run is still running.
 *
 * The agent that looks has no guard and no namespace, so it sees the whole node.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CLEAN_H
#define MUSTER_AGENT_CLEAN_H

#include <event2/event.h>
#include <jansson.h>

#include "err.h"

struct clean;

/* Do what the body of CLEAN says. done gets the body of CLEANED, once the processes to be
 * ended have ended. NULL with err if body is malformed. */
struct clean *clean_begin(struct event_base *base, const json_t *body,
                          void (*done)(json_t *body, void *arg), void *arg, struct error *err);
void clean_free(struct clean *clean);

#endif
