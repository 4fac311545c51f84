/* connect_probe.h - who answers at these addresses?
 *
 * All are called at once and have one deadline. Each must greet with the token: an address
 * alone proves nothing, many machines have a 172.17.0.1.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CONNECT_PROBE_H
#define MUSTER_AGENT_CONNECT_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/event.h>

#define CALL_TOKEN_BYTES 16

struct call {
    char         *address;
    int           port, node; /* node: whatever the caller knows it by */
    bool          reached;
    char          interface[32]; /* it left by this one */
    char          why[96];       /* it was not reached */

    struct calls *calls;
    int           fd; /* -1: over */
    struct event *event;
    unsigned char got[CALL_TOKEN_BYTES];
    size_t        have;
};

struct calls {
    struct call       *call; /* as they were added */
    size_t             count, open;
    unsigned char      token[CALL_TOKEN_BYTES];
    struct event_base *base;
    struct event      *late;
    void             (*done)(struct calls *calls, void *arg);
    void              *arg;
};

/* done comes once, when all are over; it may calls_free(). */
struct calls *calls_new(struct event_base *base, const unsigned char token[CALL_TOKEN_BYTES],
                        void (*done)(struct calls *calls, void *arg), void *arg);
void calls_add(struct calls *calls, const char *address, int port, int node);
/* After the last calls_add. done may come at once. */
void calls_begin(struct calls *calls, int timeout_ms);
void calls_free(struct calls *calls);

#endif
