/* resolve.h - the addresses of a host name, without blocking the event loop
 *
 * getaddrinfo() blocks as long as the name server does, so it runs in a thread of its own,
 * which reports to the loop when it is done. The caller keeps the deadline: resolve_free() is
 * allowed while the thread is still waiting; the thread then drops its answer. A numeric
 * address needs no thread.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RESOLVE_H
#define MUSTER_RESOLVE_H

#include <event2/event.h>
#include <netdb.h>

#include "err.h"

struct resolve;

/* found belongs to the callee (freeaddrinfo), or is NULL with the reason in err. Called once,
 * from the loop. */
typedef void resolve_f(struct addrinfo *found, const struct error *err, void *arg);

/* family: AF_UNSPEC, AF_INET or AF_INET6. NULL if no thread could be started. */
struct resolve *resolve_start(struct event_base *base, const char *host, int port, int family,
                              resolve_f *done, void *arg, struct error *err);
void            resolve_free(struct resolve *resolve);

#endif
