/* reconnect_socket.h - where a launcher that has lost its connection reconnects
 *
 * The agent with the ranks listens on an abstract Unix socket: it is not a file, so
 * nothing is left if the agent is killed. The launcher logs in again and starts a second
 * agent there, which connects to this socket, passes on the RECONNECT frame and from then
 * on only bytes. The socket's name is random but public; the token in the frame is secret.
 * The agent rejects callers of another uid before it reads from them, and does not connect
 * to a socket of another uid.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RECONNECT_SOCKET_H
#define MUSTER_AGENT_RECONNECT_SOCKET_H

#include <stdint.h>

#include <event2/event.h>
#include <jansson.h>

#include "err.h"


struct reconnect_socket;

/* The caller has sent the token. received: the position in our stream up to which the launcher
 * has everything. Takes over fd; or returns -1 with err, then the caller is rejected. */
typedef int reconnect_f(int fd, uint64_t received, void *arg, struct error *err);

/* NULL with err. token: 32 hex digits, copied. */
struct reconnect_socket *reconnect_socket_open(struct event_base *base, const char *name,
                                               const char *token, reconnect_f *reconnect,
                                               void *arg, struct error *err);
void         reconnect_socket_close(struct reconnect_socket *socket);

/* For the second agent: connects to the agent behind that socket. -1 with err. */
int reconnect_socket_connect(const char *name, struct error *err);
/* Continues that agent, if it is stopped. */
void reconnect_socket_wake(int fd);

/* Reads the body of RECONNECT; the strings are borrowed. -1: a value is missing or too long. */
int reconnect_socket_request(const json_t *body, const char **name, const char **token,
                             uint64_t *received, struct error *err);

#endif
