/* peers_state.h - what peers.c, peers_answer.c, peers_call.c and peers_join.c share
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PEERS_STATE_H
#define MUSTER_PEERS_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "comm/greeting.h"
#include "comm/peers.h"

/* A connection to this rank. Whoever has not proved that it is a rank has one of these, and
 * nothing else. */
struct caller {
    int                    fd; /* -1: none */
    int64_t                until_ns;
    size_t                 got; /* bytes: first, then those of said */
    struct greeting_first  first;
    struct greeting_answer answer;
    unsigned char         *said; /* of a report: one byte per rank, not 0: lost. Then the proof */
};

struct peers {
    int                      rank, size;
    char                   **label;
    struct sockaddr_storage *address; /* of each rank; family AF_UNSPEC: not known */
    struct secret            secret;
    int                      listen_fd, stop_fd, joined_fd;
    bool                     is_answering; /* the thread runs */
    pthread_t                thread;
    atomic_uint_fast64_t     begun;

    /* Used only by the thread. A new caller replaces the oldest if the table is full. */
    struct caller *caller;
    size_t         callers;

    pthread_mutex_t mutex;
    bool           *has_told;  /* under the mutex: ranks that have sent a report */
    bool           *is_lost;   /* under the mutex: ranks that a report names as lost */
    int            *joined;    /* under the mutex: the connections with JOIN; -1: none yet */
    bool            is_joined; /* under the mutex: peers_join() has taken them */
};

/* A connection to another rank. state: PEER_UNREACHABLE before the connection, then PEER_SILENT
 * until the answer has come. */
struct call {
    int                    fd;  /* -1: closed */
    int                    why; /* errno if it could not connect, otherwise 0 */
    bool                   is_connected, is_told;
    size_t                 got; /* bytes of answer */
    struct greeting_first  first;
    struct greeting_answer answer;
    enum peer_state        state;
};

/* ---- peers_answer.c ---- */

/* Opens the port; and starts the thread. -1 with err. */
int peers_open_port(struct peers *peers, struct error *err);
int peers_start_thread(struct peers *peers, struct error *err);
/* Ends the thread, if it runs, and closes all connections that it has. */
void peers_stop_thread(struct peers *peers);

/* ---- peers_call.c ---- */

/* Begins to connect to a rank. If its address is not known, the call is closed, and PEER_THERE. */
void call_begin(const struct peers *peers, int rank, enum greeting_purpose purpose,
                struct call *call);
/* Call it when poll() has an event for a call without its answer. The state becomes PEER_THERE if
 * the right answer has come; otherwise the call may be closed. */
void call_take_event(const struct peers *peers, struct call *call);
bool call_has_answer(const struct call *call);
void call_end(struct call *call, enum peer_state state);

void      hang_up(int *fd);
socklen_t address_size(const struct sockaddr_storage *address);

#endif
