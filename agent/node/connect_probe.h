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

    struct connect_probe *probe;
    int                   fd; /* -1: over */
    struct event         *event;
    unsigned char         got[CALL_TOKEN_BYTES];
    size_t                have;
};

struct connect_probe {
    struct call       *call; /* as they were added */
    size_t             count, open;
    unsigned char      token[CALL_TOKEN_BYTES];
    struct event_base *base;
    struct event      *late;
    void             (*done)(struct connect_probe *probe, void *arg);
    void              *arg;
};

/* done comes once, when all are over; it may connect_probe_free(). */
struct connect_probe *connect_probe_new(struct event_base  *base,
                                        const unsigned char token[CALL_TOKEN_BYTES],
                                        void (*done)(struct connect_probe *probe, void *arg),
                                        void *arg);
void connect_probe_add(struct connect_probe *probe, const char *address, int port, int node);
/* After the last connect_probe_add. done may come at once. */
void connect_probe_begin(struct connect_probe *probe, int timeout_ms);
void connect_probe_free(struct connect_probe *probe);

#endif
