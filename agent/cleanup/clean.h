/* clean.h - what earlier runs of this user have left on this node
 *
 * `muster clean` asks for it, and so does a run that has lost the agent of this node:
 * "orphans" are what of that run no agent looks after any more, and with the agent that was
 * given up all that is below it, if it is stopped: its guard may be, too. One that runs has
 * given up its launcher as well, and is waited for: its ranks have their grace. orphans.h
 * tells what is a process of a run, and when that goes on.
 *
 * The agent that looks has no guard and no namespace, and so sees the whole node.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CLEAN_H
#define MUSTER_AGENT_CLEAN_H

#include <event2/event.h>
#include <jansson.h>

#include "err.h"

struct clean;

/* Do what the body of CLEAN says; done gets the body of CLEANED, later when
 * processes have to be ended first. NULL with err when body is malformed. */
struct clean *clean_begin(struct event_base *base, const json_t *body,
                          void (*done)(json_t *body, void *arg), void *arg, struct error *err);
void clean_free(struct clean *clean);

#endif
