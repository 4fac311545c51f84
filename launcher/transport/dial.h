/* dial.h - a TCP connection to whichever address of a host answers first
 *
 * "Happy eyeballs" (RFC 8305): the addresses are tried in order, with the families alternating,
 * each 250 ms after the one before or as soon as that fails; the first to connect wins. The
 * caller keeps the deadline.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DIAL_H
#define MUSTER_DIAL_H

#include <event2/event.h>
#include <netdb.h>

#include "err.h"

struct dial;

/* fd is a connected socket, non-blocking and close-on-exec, owned by the callee; -1 if no
 * address could be reached, with each and its reason in err. */
typedef void dial_f(int fd, const struct error *err, void *arg);

/* addresses is borrowed and must live as long as the dial. segment_bytes: as in conn.h. */
struct dial *dial_start(struct event_base *base, const struct addrinfo *addresses,
                        int segment_bytes, dial_f *done, void *arg);
void         dial_free(struct dial *dial);

/* The result of each address so far: "10.0.0.1 port 22: Connection refused; 10.0.1.1 port 22:
 * no answer". */
void dial_describe(const struct dial *dial, struct error *text);

#endif
