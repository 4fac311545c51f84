/* connect_probe.h - which of these addresses can this node connect to?
 *
 * Connects to all at once, with one deadline. Each must send the token: an address alone
 * proves nothing, since many machines have a 172.17.0.1. Full packets may follow the token: where
 * the network loses those, programs connect and then wait for ever.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CONNECT_PROBE_H
#define MUSTER_AGENT_CONNECT_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/event.h>

#define CALL_TOKEN_BYTES 16
#define CALL_LOAD_BYTES  (12 << 10) /* more than one packet of any usual size */

struct call {
    char         *address;
    int           port, node; /* node: the caller's number for the node */
    bool          reached;
    bool          is_lossy;      /* reached, but no full packet arrived */
    char          interface[32]; /* the local interface of the connection */
    char          why[96];       /* why it was not reached */

    struct connect_probe *probe;
    int                   fd; /* -1: closed */
    struct event         *event;
    unsigned char         got[CALL_TOKEN_BYTES];
    size_t                have;
};

struct connect_probe {
    struct call       *call; /* in the order in which they were added */
    size_t             count, open;
    unsigned char      token[CALL_TOKEN_BYTES];
    bool               wants_load; /* set it before connect_probe_begin() */
    struct event_base *base;
    struct event      *late;
    void             (*done)(struct connect_probe *probe, void *arg);
    void              *arg;
};

/* Calls done once, when all calls are over; done may call connect_probe_free(). */
struct connect_probe *connect_probe_new(struct event_base  *base,
                                        const unsigned char token[CALL_TOKEN_BYTES],
                                        void (*done)(struct connect_probe *probe, void *arg),
                                        void *arg);
void connect_probe_add(struct connect_probe *probe, const char *address, int port, int node);
/* Starts to connect, after the last connect_probe_add(). May call done at once. */
void connect_probe_begin(struct connect_probe *probe, int timeout_ms);
void connect_probe_free(struct connect_probe *probe);

#endif
