/* dial.h - a TCP connection to the address of a host that answers first
 *
 * "Happy eyeballs" (RFC 8305): the addresses are tried in order, with alternating families,
 * each 250 ms after the previous one or as soon as that one fails. The first to connect wins.
 * The caller enforces the deadline.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_DIAL_H
#define MUSTER_DIAL_H

#include <stdbool.h>

#include <event2/event.h>
#include <netdb.h>

#include "err.h"

struct dial;

/* fd is a connected socket, non-blocking and close-on-exec, owned by the callee; -1 if no
 * address could be reached. err then lists the addresses with reasons. */
typedef void dial_f(int fd, const struct error *err, void *arg);

/* Starts to connect. addresses is borrowed and must outlive the dial. segment_bytes: as in
 * conn.h. */
struct dial *dial_start(struct event_base *base, const struct addrinfo *addresses,
                        int segment_bytes, dial_f *done, void *arg);
void         dial_free(struct dial *dial);

/* Limits how long the other side of the connection may confirm nothing, though it must: what we
 * have sent, or a keepalive. Reading then fails with ETIMEDOUT. 0: as long as in a run, where
 * heartbeats decide. No effect on a socket that is not TCP. */
void dial_limit_silence(int fd, double seconds);
/* Has it owed us a confirmation for that long? */
bool dial_is_silent(int fd, double seconds);

/* Writes the result for each address so far: "10.0.0.1 port 22: Connection refused; 10.0.1.1
 * port 22: no answer". */
void dial_describe(const struct dial *dial, struct error *text);

#endif
