/* reconnect_socket.h - where the launcher comes back in, when its connection was lost
 *
 * The agent with the ranks listens on an abstract Unix socket: no file, nothing that
 * is left when it is killed. The launcher logs in again, and what it starts there is a
 * second agent, which only passes bytes on: it connects at the socket and hands in the
 * RECONNECT frame. The socket's name is random and public, the token in the frame is not;
 * callers of another uid are turned away unheard, and so is a socket that belongs to one.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RECONNECT_SOCKET_H
#define MUSTER_AGENT_RECONNECT_SOCKET_H

#include <stdint.h>

#include <event2/event.h>
#include <jansson.h>

#include "err.h"


struct reconnect_socket;

/* The caller has the token. received: how far our stream has come. Take fd over; or -1
 * with err, then it is turned away. */
typedef int reconnect_f(int fd, uint64_t received, void *arg, struct error *err);

/* NULL with err. token: 32 hex digits, copied. */
struct reconnect_socket *reconnect_socket_open(struct event_base *base, const char *name,
                                               const char *token, uint32_t generation,
                                               reconnect_f *reconnect, void *arg,
                                               struct error *err);
void         reconnect_socket_close(struct reconnect_socket *socket);

/* The other side of it: a socket to the agent behind that socket, or -1 with err. */
int reconnect_socket_connect(const char *name, struct error *err);

/* The body of RECONNECT; the strings are borrowed. -1: something is missing or too long. */
int reconnect_socket_request(const json_t *body, const char **name, const char **token,
                             uint64_t *received, struct error *err);

#endif
