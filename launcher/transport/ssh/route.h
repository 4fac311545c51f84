/* route.h - a socket to the sshd of one host
 *
 * Looks up the host's name (resolve.h) and connects to its addresses (dial.h). If ssh config
 * has a proxy command, that replaces both (child.h). The caller enforces the deadlines and
 * decides when to hang up.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ROUTE_H
#define MUSTER_ROUTE_H

#include <stdbool.h>

#include <event2/event.h>

#include "err.h"
#include "transport/child.h"
#include "transport/conn.h"
#include "transport/dial.h"
#include "transport/resolve.h"
#include "transport/ssh/ssh_config.h"

struct route {
    struct event_base       *base;
    const struct ssh_config *config; /* borrowed */
    int                      segment_bytes;
    void                   (*news)(void *arg); /* the step can continue; may free the route */
    void                    *arg;
    struct resolve          *resolve;
    struct addrinfo         *addresses;
    struct dial             *dial;
    struct child             proxy; /* of ProxyCommand */
    int                      fd; /* -1: none */
    bool                     has_failed;
    struct error             err;
};

void route_init(struct route *route, struct event_base *base, const struct ssh_config *config,
                int segment_bytes, void (*news)(void *arg), void *arg);
void route_clear(struct route *route);

/* The two steps. They return 1 if done; 0: call again after news(); -1: see why. After the
 * second step fd is connected; a caller that takes it sets fd to -1. */
int route_resolve(struct route *route, struct conn_failure *why);
int route_connect(struct route *route, struct conn_failure *why);

/* The current step was not done within limit_s: describes in why what it was waiting for. */
void route_late(const struct route *route, double limit_s, struct conn_failure *why);

/* Returns to the state before route_connect(). */
void route_hang_up(struct route *route);

bool route_is_tcp(const struct route *route);

#endif
