/* peers_join.c - connects all ranks: see peers.h
 *
 * A rank calls those with a lower number, and the others call it. A call that breaks is made again,
 * because a rank with too many strangers at its port may have hung up.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "comm/peers_state.h"
#include "xalloc.h"

#define ATTEMPT_NS (4 * NS_PER_S)  /* for one call; longer than the called rank waits */
#define AGAIN_NS   (NS_PER_S / 10) /* before another one */

/* A call to a rank with a lower number. */
struct joining {
    struct call call;
    int64_t     until_ns; /* call.fd >= 0: the call's end; otherwise the time of the next one */
    bool        is_done;
};

static int  join_all(struct peers *peers, struct joining *joining, int64_t end_ns,
                     struct error *err);
static bool begin_calls(struct peers *peers, struct joining *joining, struct pollfd *ready,
                        int64_t *next_ns);
static void take_event(struct peers *peers, struct joining *joining);
static bool is_refused(const struct joining *joining);
static bool all_joined(struct peers *peers, int *missing);
static void take_all(struct peers *peers, struct joining *joining, int *fd);
static int  not_joined(const struct peers *peers, const struct joining *joining, int refused,
                       int missing, struct error *err);
static int  wait_ms(int64_t until_ns);

int peers_join(struct peers *peers, double timeout_s, int *fd, struct error *err)
{
    const int64_t   end_ns = clock_now_ns() + (int64_t)(timeout_s * NS_PER_S);
    struct joining *joining = xcalloc((size_t)peers->size, sizeof *joining);
    int             rank, rc;

    for (rank = 0; rank < peers->size; rank++)
        joining[rank].call.fd = -1;
    rc = join_all(peers, joining, end_ns, err);
    if (rc == 0)
        take_all(peers, joining, fd);
    for (rank = 0; rank < peers->size; rank++)
        hang_up(&joining[rank].call.fd);
    free(joining);
    return rc;
}

/* The other ranks' calls come to the thread. */
static int join_all(struct peers *peers, struct joining *joining, int64_t end_ns,
                    struct error *err)
{
    struct pollfd *ready = xcalloc((size_t)peers->rank + 1, sizeof *ready);
    eventfd_t      count;
    int64_t        next_ns;
    int            rank, missing = -1, refused = -1;
    bool           is_done = false;

    for (;;) {
        next_ns = end_ns;
        is_done = begin_calls(peers, joining, ready, &next_ns) && all_joined(peers, &missing);
        if (is_done || refused >= 0 || clock_now_ns() >= end_ns)
            break;
        ready[peers->rank] = (struct pollfd){ .fd = peers->joined_fd, .events = POLLIN };
        if (poll(ready, (nfds_t)peers->rank + 1, wait_ms(next_ns)) < 0)
            continue;
        (void)eventfd_read(peers->joined_fd, &count);
        for (rank = 0; rank < peers->rank; rank++) {
            if (ready[rank].revents != 0)
                take_event(peers, &joining[rank]);
            if (is_refused(&joining[rank]))
                refused = rank;
        }
    }
    free(ready);
    if (is_done)
        return 0;
    return not_joined(peers, joining, refused, missing, err);
}

/* Returns whether all calls are done. *next_ns: if something is due before it, when that is. */
static bool begin_calls(struct peers *peers, struct joining *joining, struct pollfd *ready,
                        int64_t *next_ns)
{
    const int64_t now_ns = clock_now_ns();
    bool          all_done = true;
    int           rank;

    for (rank = 0; rank < peers->rank; rank++) {
        struct joining *to = &joining[rank];

        if (!to->is_done && to->until_ns <= now_ns) {
            hang_up(&to->call.fd);
            call_begin(peers, rank, GREETING_JOIN, &to->call);
            to->until_ns = now_ns + (to->call.fd >= 0 ? ATTEMPT_NS : AGAIN_NS);
        }
        if (!to->is_done && to->until_ns < *next_ns)
            *next_ns = to->until_ns;
        ready[rank] = (struct pollfd){ .fd = to->is_done ? -1 : to->call.fd,
                                       .events = to->call.is_connected ? POLLIN : POLLOUT };
        all_done = all_done && to->is_done;
    }
    return all_done;
}

static void take_event(struct peers *peers, struct joining *joining)
{
    struct call  *call = &joining->call;
    unsigned char proof[GREETING_PROOF], last;

    if (call->is_told) {
        joining->is_done = read(call->fd, &last, 1) == 1;
        if (!joining->is_done)
            hang_up(&call->fd);
    } else {
        call_take_event(peers, call);
        if (call->fd >= 0 && call->state == PEER_THERE) {
            greeting_prove(&peers->secret, &call->first, &call->answer, NULL, 0, proof);
            call->is_told = true;
            joining->until_ns = INT64_MAX; /* the called rank may have the connection already */
            if (send(call->fd, proof, sizeof proof, MSG_NOSIGNAL) != (ssize_t)sizeof proof)
                hang_up(&call->fd);
        }
    }
    if (call->fd < 0)
        joining->until_ns = clock_now_ns() + AGAIN_NS;
}

/* Every rank listens before the first one calls. */
static bool is_refused(const struct joining *joining)
{
    return joining->call.fd < 0 && joining->call.state == PEER_ENDED && !joining->call.is_connected;
}

/* *missing: a rank that has not called. */
static bool all_joined(struct peers *peers, int *missing)
{
    int rank;

    *missing = -1;
    pthread_mutex_lock(&peers->mutex);
    for (rank = peers->rank + 1; rank < peers->size && *missing < 0; rank++)
        if (peers->joined[rank] < 0)
            *missing = rank;
    pthread_mutex_unlock(&peers->mutex);
    return *missing < 0;
}

/* missing: a rank that has not called, or -1. */
static int not_joined(const struct peers *peers, const struct joining *joining, int refused,
                      int missing, struct error *err)
{
    int rank, why = 0;

    if (refused >= 0)
        return err_set(err, "%s: its process has exited", peers->label[refused]);
    for (rank = 0; rank < peers->rank && missing < 0; rank++) {
        if (joining[rank].is_done)
            continue;
        missing = rank;
        why = joining[rank].call.why;
    }
    return err_set(err, "%s: not connected in time%s%s", peers->label[missing],
                   why != 0 ? ": " : "", why != 0 ? strerror(why) : "");
}

static void take_all(struct peers *peers, struct joining *joining, int *fd)
{
    int rank;

    pthread_mutex_lock(&peers->mutex);
    peers->is_joined = true;
    for (rank = 0; rank < peers->size; rank++) {
        if (rank < peers->rank) {
            fd[rank] = joining[rank].call.fd;
            joining[rank].call.fd = -1;
        } else if (rank > peers->rank) {
            fd[rank] = peers->joined[rank];
            peers->joined[rank] = -1;
        }
    }
    pthread_mutex_unlock(&peers->mutex);
}

static int wait_ms(int64_t until_ns)
{
    const int64_t left_ms = (until_ns - clock_now_ns()) / 1000000 + 1;

    return left_ms < 0 ? 0 : left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}
