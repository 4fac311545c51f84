/* clean.h - what earlier runs of this user have left on this node
 *
 * `muster clean` asks for it. A process is of a run when its environment carries
 * MUSTER_RUN_ID and its user is ours; the run goes on as long as the agent lives
 * that it descends from. An agent is stale when it is stopped or has lost its
 * parent: a healthy one ends by itself then. Nothing is known by its name, and what
 * another user owns is never touched.
 *
 * The agent that looks has no guard and no namespace, and so sees the whole node.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CLEAN_H
#define MUSTER_CLEAN_H

#include <event2/event.h>
#include <jansson.h>

#include "err.h"

#define CLEAN_LISTED_MAX 512 /* processes; of more, only these are reported and ended */

struct clean;

/* Do what the body of CLEAN says; done gets the body of CLEANED, later when
 * processes have to be ended first. NULL with err when body is malformed. */
struct clean *clean_begin(struct event_base *base, const json_t *body,
                          void (*done)(json_t *body, void *arg), void *arg, struct error *err);
void clean_free(struct clean *clean);

#endif
