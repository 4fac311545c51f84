/* lookup.h - the addresses of a name, as programs on this node find them
 *
 * A static agent cannot load the libraries of nsswitch.conf, so a task asks getent. A name
 * server may not answer, so this has a deadline.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LOOKUP_H
#define MUSTER_AGENT_LOOKUP_H

#include <event2/event.h>
#include <jansson.h>

#include "err.h"

#define LOOKUP_ADDRESSES_MAX 16 /* the rest is left out */

/* Gets an array of addresses, in the order of getaddrinfo(), and why there are none: "the name
 * is not known there"; "": this node cannot tell, for example without getent. Both are
 * borrowed. */
typedef void lookup_done(const json_t *addresses, const char *why, void *arg);

struct lookup;

/* Calls done once, from the event loop. NULL with err: there was no process for it. */
struct lookup *lookup_begin(struct event_base *base, const char *name, lookup_done *done, void *arg,
                            struct error *err);
/* Ends it, without calling done. Not in done itself. */
void lookup_free(struct lookup *lookup); /* NULL is fine */

#endif
