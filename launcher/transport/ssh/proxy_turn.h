/* proxy_turn.h - how many log in through one proxy at the same time
 *
 * All connections behind a ProxyJump host are logins at its sshd, which drops them above its
 * MaxStartups: from the tenth on, if nobody has changed that. So they take turns. A turn ends
 * when it is given back, and after 2 s in any case: one that is slow, or hangs behind the
 * proxy, must not hold up all others.
 *
 * What ssh itself connects (conn_openssh.c) takes turns once it was dropped.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROXY_TURN_H
#define MUSTER_PROXY_TURN_H

#include <stdbool.h>

#include <event2/event.h>

struct proxy_turn;

/* Wait for a turn at the proxy of that name, after those that wait already. come is called when
 * it has come, from a fresh turn of the loop; the callee may proxy_turn_free(). */
struct proxy_turn *proxy_turn_new(struct event_base *base, const char *proxy,
                                  void (*come)(void *arg), void *arg);
bool               proxy_turn_has_come(const struct proxy_turn *turn);
/* Give it back, or do not wait any more. NULL is fine. */
void               proxy_turn_free(struct proxy_turn *turn);

#endif
