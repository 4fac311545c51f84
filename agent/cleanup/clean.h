/* clean.h - finds and kills processes that earlier runs of this user have left on this node
 *
 * `muster clean` requests this, and so does a run that has lost the agent of this node.
 * "orphans" in CLEAN limits it to processes of that run without an agent and, if the lost
 * agent is stopped, to everything below that agent, since its guard may be stopped as well.
 * A lost agent that still runs has lost its launcher too and ends its ranks within their
 * grace, so this waits for it. orphans.h defines which processes belong to a run, and
 * whether a run is still running.
 *
 * The agent that does this has no guard and no namespace, so it sees the whole node.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CLEAN_H
#define MUSTER_AGENT_CLEAN_H

#include <event2/event.h>
#include <jansson.h>

#include "err.h"

struct clean;

/* Handles the body of CLEAN. Calls done with the body of CLEANED once the targets are gone.
 * NULL with err if body is malformed. */
struct clean *clean_begin(struct event_base *base, const json_t *body,
                          void (*done)(json_t *body, void *arg), void *arg, struct error *err);
void clean_free(struct clean *clean);

#endif
