/* peers.c - see peers.h
 *
 * On each connection, the called rank first sends a struct hello. When the caller has received
 * the hellos of all ranks or has timed out, it sends the list of lost ranks. The called rank
 * acknowledges the list with one byte.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/peers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "comm/pmi_client.h"
#include "thread.h"
#include "xalloc.h"

#define MAGIC     0x70656572u
#define ANSWER_NS (3 * NS_PER_S / 2) /* for all ranks to answer a call */
#define KNOWN_NS  (NS_PER_S / 2)     /* for all ranks to acknowledge the report */
#define KEY_SIZE  32
#define LOST_SIZE 900 /* bytes of the list of lost ranks; longer lists are truncated */

struct hello {
    uint32_t magic;
    int32_t  rank;
    uint64_t begun;
};

/* A connection from a caller. bytes has its rank, and one byte per rank: not 0 if lost. */
struct caller {
    int            fd; /* -1: none */
    size_t         got;
    unsigned char *bytes;
};

struct call {
    int             fd; /* -1: closed */
    bool            is_connected, is_told;
    size_t          got;
    struct hello    hello;
    enum peer_state state;
};

struct peers {
    int                      rank, size;
    char                   **label;
    struct sockaddr_storage *address; /* of each rank; family AF_UNSPEC: not known */
    int                      listen_fd, stop_fd;
    pthread_t                thread;
    atomic_uint_fast64_t     begun;

    /* Used only by the thread. A new caller replaces the oldest if the table is full. */
    struct caller *caller;
    size_t         callers, oldest;

    pthread_mutex_t mutex;
    bool           *has_told; /* under the mutex: ranks that have sent a report */
    bool           *is_lost;  /* under the mutex: ranks that a report names as lost */
};

static int   begin_listening(struct peers *peers, struct error *err);
static void *answer_all(void *arg);
static void  answer(struct peers *peers);
static void  take_bytes(struct peers *peers, struct caller *caller);
static void  take_told(struct peers *peers, const unsigned char *bytes);
static void  hang_up(int *fd);
static void  begin_call(const struct peers *peers, int rank, struct call *call);
static void  hear(const struct peers *peers, struct call *call, int64_t duration_ns);
static void  take_event(int rank, struct call *call);
static void  end_call(struct call *call, enum peer_state state);
static void  judge(struct peers *peers, struct call *call, bool is_late, enum peer_state *state);
static void  tell(const struct peers *peers, const enum peer_state *state, struct call *call);
static void  describe(const struct peers *peers, const enum peer_state *state,
                      char text[LOST_SIZE]);
static void  key_of(int rank, char key[KEY_SIZE]);
static socklen_t address_size(const struct sockaddr_storage *address);

struct peers *peers_listen(const struct sockaddr_storage *address, int rank, int size,
                           const char *const *label, struct error *err)
{
    struct peers *peers = xcalloc(1, sizeof *peers);
    size_t        i;

    peers->rank = rank;
    peers->size = size;
    peers->listen_fd = peers->stop_fd = -1;
    peers->address = xcalloc((size_t)size, sizeof *peers->address);
    peers->address[rank] = *address;
    peers->has_told = xcalloc((size_t)size, sizeof *peers->has_told);
    peers->is_lost = xcalloc((size_t)size, sizeof *peers->is_lost);
    peers->label = xcalloc((size_t)size, sizeof *peers->label);
    for (i = 0; i < (size_t)size; i++)
        peers->label[i] = xstrdup(label[i]);
    peers->callers = 2 * (size_t)size;
    peers->caller = xcalloc(peers->callers, sizeof *peers->caller);
    for (i = 0; i < peers->callers; i++)
        peers->caller[i] = (struct caller){ -1, 0, xcalloc(sizeof(int32_t) + (size_t)size, 1) };
    pthread_mutex_init(&peers->mutex, NULL);
    if (begin_listening(peers, err) == 0)
        return peers;
    hang_up(&peers->stop_fd); /* no thread runs that peers_close() could stop */
    peers_close(peers);
    return NULL;
}

static int begin_listening(struct peers *peers, struct error *err)
{
    struct sockaddr_storage *own = &peers->address[peers->rank];
    socklen_t                size = sizeof *own;
    int                      rc;

    peers->listen_fd = socket(own->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    peers->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (peers->listen_fd < 0 || peers->stop_fd < 0 ||
        bind(peers->listen_fd, (struct sockaddr *)own, address_size(own)) < 0 ||
        listen(peers->listen_fd, SOMAXCONN) < 0 ||
        getsockname(peers->listen_fd, (struct sockaddr *)own, &size) < 0)
        return err_set(err, "cannot listen for other ranks: %s", strerror(errno));
    rc = thread_start(&peers->thread, answer_all, peers);
    return rc == 0 ? 0
                   : err_set(err, "cannot start a thread for other ranks: %s", strerror(rc));
}

void peers_close(struct peers *peers)
{
    size_t i;

    if (peers == NULL)
        return;
    if (peers->stop_fd >= 0 && eventfd_write(peers->stop_fd, 1) == 0)
        pthread_join(peers->thread, NULL);
    hang_up(&peers->stop_fd);
    hang_up(&peers->listen_fd);
    for (i = 0; i < peers->callers; i++) {
        hang_up(&peers->caller[i].fd);
        free(peers->caller[i].bytes);
    }
    for (i = 0; i < (size_t)peers->size; i++)
        free(peers->label[i]);
    pthread_mutex_destroy(&peers->mutex);
    free(peers->label);
    free(peers->caller);
    free(peers->has_told);
    free(peers->is_lost);
    free(peers->address);
    free(peers);
}

void peers_address(const struct peers *peers, char *text, size_t size)
{
    const struct sockaddr_storage *own = &peers->address[peers->rank];

    text[0] = '\0';
    if (2 * (size_t)address_size(own) < size)
        hex_encode(own, address_size(own), text);
}

int peers_know(struct peers *peers, int rank, const char *address, struct error *err)
{
    struct sockaddr_storage *to = &peers->address[rank];

    if (hex_decode(address, to, sizeof *to) == (int)address_size(to))
        return 0;
    return err_set(err, "rank %d: not an address: %.100s", rank, address);
}

int peers_publish(const struct peers *peers, struct pmi *pmi, struct error *err)
{
    char key[KEY_SIZE], address[2 * sizeof(struct sockaddr_storage) + 1];

    key_of(peers->rank, key);
    peers_address(peers, address, sizeof address);
    return pmi_put(pmi, key, address, err);
}

int peers_meet(struct peers *peers, struct pmi *pmi, struct error *err)
{
    char key[KEY_SIZE], address[PMI_LINE_MAX];
    int  rank;

    for (rank = 0; rank < peers->size; rank++) {
        key_of(rank, key);
        if (rank != peers->rank && (pmi_get(pmi, key, address, sizeof address, err) < 0 ||
                                    peers_know(peers, rank, address, err) < 0))
            return -1;
    }
    return 0;
}

static void key_of(int rank, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "peers-%d", rank);
}

void peers_count(struct peers *peers)
{
    if (peers != NULL)
        peers->begun++;
}

static socklen_t address_size(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

static void hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- answering calls ---- */

static void *answer_all(void *arg)
{
    struct peers  *peers = arg;
    struct pollfd *ready = xcalloc(peers->callers + 2, sizeof *ready);
    size_t         i;

    for (;;) {
        ready[0] = (struct pollfd){ .fd = peers->stop_fd, .events = POLLIN };
        ready[1] = (struct pollfd){ .fd = peers->listen_fd, .events = POLLIN };
        for (i = 0; i < peers->callers; i++)
            ready[2 + i] = (struct pollfd){ .fd = peers->caller[i].fd, .events = POLLIN };
        if (poll(ready, peers->callers + 2, -1) < 0)
            continue; /* a signal, or no memory: try again */
        if (ready[0].revents != 0)
            break;
        for (i = 0; i < peers->callers; i++)
            if (ready[2 + i].revents != 0)
                take_bytes(peers, &peers->caller[i]);
        if (ready[1].revents != 0)
            answer(peers);
    }
    free(ready);
    return NULL;
}

static void answer(struct peers *peers)
{
    const struct hello hello = { MAGIC, peers->rank, peers->begun };
    const int          fd = accept4(peers->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct caller     *caller;

    if (fd < 0) {
        (void)poll(NULL, 0, 10); /* too many open descriptors: wait before the next try */
        return;
    }
    caller = &peers->caller[peers->oldest];
    peers->oldest = peers->oldest + 1 < peers->callers ? peers->oldest + 1 : 0;
    hang_up(&caller->fd);
    caller->fd = fd;
    caller->got = 0;
    if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        hang_up(&caller->fd);
}

static void take_bytes(struct peers *peers, struct caller *caller)
{
    const size_t  all = sizeof(int32_t) + (size_t)peers->size;
    const ssize_t n = read(caller->fd, caller->bytes + caller->got, all - caller->got);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    caller->got += n > 0 ? (size_t)n : 0;
    if (n > 0 && caller->got < all)
        return;
    if (caller->got == all) {
        take_told(peers, caller->bytes);
        (void)send(caller->fd, "", 1, MSG_NOSIGNAL); /* a caller that has exited needs none */
    }
    hang_up(&caller->fd);
}

static void take_told(struct peers *peers, const unsigned char *bytes)
{
    int32_t from;
    int     rank;

    memcpy(&from, bytes, sizeof from);
    if (from < 0 || from >= peers->size)
        return;
    pthread_mutex_lock(&peers->mutex);
    peers->has_told[from] = true;
    for (rank = 0; rank < peers->size; rank++)
        if (bytes[sizeof from + (size_t)rank] != 0)
            peers->is_lost[rank] = true;
    pthread_mutex_unlock(&peers->mutex);
}

/* ---- calling ---- */

void peers_ask(struct peers *peers, bool is_late, enum peer_state *state)
{
    struct call *call = xcalloc((size_t)peers->size, sizeof *call);
    int          rank;

    for (rank = 0; rank < peers->size; rank++)
        begin_call(peers, rank, &call[rank]);
    hear(peers, call, ANSWER_NS);
    judge(peers, call, is_late, state);
    hang_up(&call[peers->rank].fd);
    tell(peers, state, call);
    hear(peers, call, KNOWN_NS);
    for (rank = 0; rank < peers->size; rank++)
        hang_up(&call[rank].fd);
    free(call);
}

/* A rank calls itself, too: calls are answered in order, so the answer means that all earlier
 * reports have been read. A rank that was stopped and continued then has the reports that the
 * others sent while it was stopped. */
static void begin_call(const struct peers *peers, int rank, struct call *call)
{
    const struct sockaddr_storage *to = &peers->address[rank];

    *call = (struct call){ .fd = -1 };
    if (to->ss_family == AF_UNSPEC)
        return;
    call->state = PEER_UNREACHABLE;
    call->fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (call->fd >= 0 && connect(call->fd, (const struct sockaddr *)to, address_size(to)) < 0 &&
        errno != EINPROGRESS)
        end_call(call, errno == ECONNREFUSED ? PEER_ENDED : PEER_UNREACHABLE);
}

/* Waits until all ranks have sent what is expected: first their hello, after the report the
 * acknowledgement. */
static void hear(const struct peers *peers, struct call *call, int64_t duration_ns)
{
    const int64_t  end_ns = clock_now_ns() + duration_ns;
    struct pollfd *ready = xcalloc((size_t)peers->size, sizeof *ready);
    int64_t        left_ms;
    int            rank, waiting;

    for (;;) {
        for (rank = waiting = 0; rank < peers->size; rank++) {
            const struct call *c = &call[rank];
            const bool         is_done = c->got == sizeof c->hello && !c->is_told;

            ready[rank] = (struct pollfd){ .fd = is_done ? -1 : c->fd,
                                           .events = c->is_connected ? POLLIN : POLLOUT };
            waiting += ready[rank].fd >= 0;
        }
        left_ms = (end_ns - clock_now_ns()) / 1000000;
        if (waiting == 0 || left_ms <= 0)
            break;
        if (poll(ready, (nfds_t)peers->size, (int)left_ms) < 0)
            continue; /* a signal */
        for (rank = 0; rank < peers->size; rank++)
            if (ready[rank].revents != 0)
                take_event(rank, &call[rank]);
    }
    free(ready);
}

static void take_event(int rank, struct call *call)
{
    int       why = 0;
    socklen_t size = sizeof why;
    ssize_t   n;

    if (!call->is_connected) {
        if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &why, &size) < 0 || why != 0)
            end_call(call,
                     why == ECONNREFUSED || why == ECONNRESET ? PEER_ENDED : PEER_UNREACHABLE);
        call->is_connected = true;
        call->state = call->fd >= 0 ? PEER_SILENT : call->state;
        return;
    }
    if (call->is_told) {
        hang_up(&call->fd);
        return;
    }
    n = read(call->fd, (char *)&call->hello + call->got, sizeof call->hello - call->got);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    call->got += n > 0 ? (size_t)n : 0;
    if (n > 0 && call->got < sizeof call->hello)
        return;
    if (n > 0 && call->hello.magic == MAGIC && call->hello.rank == rank)
        call->state = PEER_THERE;
    else
        end_call(call, PEER_ENDED); /* or another program uses the port now */
}

static void end_call(struct call *call, enum peer_state state)
{
    hang_up(&call->fd);
    call->state = state;
}

static bool has_answered(const struct call *call)
{
    return call->got == sizeof call->hello && call->state == PEER_THERE;
}

/* A rank that has sent a report exited because of other ranks, so it is not lost. If no rank is
 * lost, all wait for those that have begun the fewest operations. */
static void judge(struct peers *peers, struct call *call, bool is_late, enum peer_state *state)
{
    uint64_t fewest = peers->begun;
    bool     is_known = !is_late;
    int      rank;

    pthread_mutex_lock(&peers->mutex);
    for (rank = 0; rank < peers->size; rank++) {
        state[rank] = peers->has_told[rank] || rank == peers->rank ? PEER_THERE
                                                                   : call[rank].state;
        if (peers->is_lost[rank] && state[rank] == PEER_THERE)
            state[rank] = PEER_TOLD;
        is_known = is_known || state[rank] != PEER_THERE;
        if (has_answered(&call[rank]) && call[rank].hello.begun < fewest)
            fewest = call[rank].hello.begun;
    }
    pthread_mutex_unlock(&peers->mutex);
    for (rank = 0; rank < peers->size && !is_known && fewest < peers->begun; rank++)
        if (has_answered(&call[rank]) && call[rank].hello.begun == fewest)
            state[rank] = PEER_LATE;
}

/* Reports to silent ranks, too: they may continue later. */
static void tell(const struct peers *peers, const enum peer_state *state, struct call *call)
{
    const size_t   size = sizeof(int32_t) + (size_t)peers->size;
    const int32_t  own = peers->rank;
    unsigned char *bytes = xcalloc(size, 1);
    int            rank;

    memcpy(bytes, &own, sizeof own);
    for (rank = 0; rank < peers->size; rank++)
        bytes[sizeof own + (size_t)rank] = state[rank] != PEER_THERE;
    for (rank = 0; rank < peers->size; rank++) {
        if (call[rank].fd < 0)
            continue;
        call[rank].is_told = true;
        if (!call[rank].is_connected ||
            send(call[rank].fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size ||
            call[rank].state == PEER_SILENT)
            hang_up(&call[rank].fd);
    }
    free(bytes);
}

/* ---- the error message ---- */

int peers_blame(struct peers *peers, const char *what, const char *why, double late_s,
                struct error *err)
{
    enum peer_state *state;
    char             lost[LOST_SIZE] = "", late[80] = "";
    bool             is_missed = false;

    if (peers != NULL) {
        state = xcalloc((size_t)peers->size, sizeof *state);
        peers_ask(peers, late_s > 0, state);
        is_missed = state[peers->rank] == PEER_TOLD;
        describe(peers, state, lost);
        free(state);
    }
    if (is_missed)
        return err_set(err, "%s: other ranks have lost this one", what);
    if (late_s > 0)
        snprintf(late, sizeof late, "not finished within %g s: ", late_s);
    else if (lost[0] != '\0')
        snprintf(late, sizeof late, "lost ");
    return err_set(err, "%s: %s%s", what, late, lost[0] != '\0' ? lost : why);
}

static void describe(const struct peers *peers, const enum peer_state *state,
                     char text[LOST_SIZE])
{
    static const char *const what[] = {
        [PEER_LATE] = "has not reached this operation",
        [PEER_ENDED] = "its process has exited",
        [PEER_SILENT] = "does not answer",
        [PEER_UNREACHABLE] = "cannot be reached",
        [PEER_TOLD] = "another rank has lost it",
    };
    size_t at = 0;
    int    rank;

    text[0] = '\0';
    for (rank = 0; rank < peers->size && at < LOST_SIZE; rank++) {
        if (state[rank] == PEER_THERE)
            continue;
        at += (size_t)snprintf(text + at, LOST_SIZE - at, "%s%s (%s)", at == 0 ? "" : ", ",
                               peers->label[rank], what[state[rank]]);
    }
}
