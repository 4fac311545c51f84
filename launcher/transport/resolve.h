/* resolve.h - the addresses of a host name, without blocking the event loop
 *
 * getaddrinfo() blocks while it waits for the name server, so it runs in its own thread, which
 * reports to the loop when it is done. The caller enforces the deadline: it may call
 * resolve_free() while the thread is still waiting, and the thread then drops its answer. A
 * numeric address needs no thread.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RESOLVE_H
#define MUSTER_RESOLVE_H

#include <event2/event.h>
#include <netdb.h>

#include "err.h"

struct resolve;

/* found belongs to the callee (freeaddrinfo()), or is NULL with the reason in err. Called once,
 * from the loop. */
typedef void resolve_f(struct addrinfo *found, const struct error *err, void *arg);

/* Starts to resolve host. family: AF_UNSPEC, AF_INET or AF_INET6. Returns NULL with err if no
 * thread could be started. */
struct resolve *resolve_start(struct event_base *base, const char *host, int port, int family,
                              resolve_f *done, void *arg, struct error *err);
void            resolve_free(struct resolve *resolve);

#endif
