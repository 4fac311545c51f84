/* proxy_turn.h - limits the simultaneous logins through one proxy
 *
 * All connections behind a ProxyJump host are logins at its sshd, which drops them above its
 * MaxStartups: by default, from the tenth on. Therefore they take turns. A turn ends when it is
 * given back, and after 2 s in any case: a connection that is slow, or hangs behind the proxy,
 * must not hold up all others.
 *
 * Connections that the ssh program makes (conn_openssh.c) take turns once they have been
 * dropped.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROXY_TURN_H
#define MUSTER_PROXY_TURN_H

#include <stdbool.h>

#include <event2/event.h>

struct proxy_turn;

/* Waits for a turn at the proxy of this name, after the turns that already wait. come is called
 * from the event loop when the turn has come; the callee may call proxy_turn_free(). */
struct proxy_turn *proxy_turn_new(struct event_base *base, const char *proxy,
                                  void (*come)(void *arg), void *arg);
bool               proxy_turn_has_come(const struct proxy_turn *turn);
/* Gives the turn back, or stops waiting for it. turn may be NULL. */
void               proxy_turn_free(struct proxy_turn *turn);

#endif
