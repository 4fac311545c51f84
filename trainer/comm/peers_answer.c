/* peers_answer.c - the thread that answers a rank's callers: see peers_state.h, and greeting.h for
 * the messages
 *
 * A caller that does not prove within GREETING_NS that it is a rank is hung up on. No caller holds
 * up another one, whatever it sends or does not send.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "comm/peers_state.h"
#include "thread.h"
#include "xalloc.h"

#define GREETING_NS (3 * NS_PER_S) /* longer than a call of peers_ask() takes */
#define MORE        64             /* callers at the same time, besides one for each rank */

static void          *answer_all(void *arg);
static size_t         poll_callers(struct peers *peers, struct pollfd *ready,
                                   struct caller **polled);
static int            left_ms(const struct peers *peers);
static void           hang_up_late(struct peers *peers);
static struct caller *oldest(const struct peers *peers);
static void           take_caller(struct peers *peers);
static void           take_bytes(struct peers *peers, struct caller *caller);
static bool           take_first(struct peers *peers, struct caller *caller);
static void           take_said(struct peers *peers, struct caller *caller);
static void           take_report(struct peers *peers, const struct caller *caller);
static void           take_join(struct peers *peers, struct caller *caller);
static size_t         said_size(const struct peers *peers, const struct caller *caller);
static ssize_t        read_some(struct caller *caller, void *to, size_t size, size_t before);

int peers_open_port(struct peers *peers, struct error *err)
{
    struct sockaddr_storage *own = &peers->address[peers->rank];
    socklen_t                size = sizeof *own;

    peers->listen_fd = socket(own->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    peers->stop_fd = eventfd(0, EFD_CLOEXEC);
    peers->joined_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (peers->listen_fd >= 0 && peers->stop_fd >= 0 && peers->joined_fd >= 0 &&
        bind(peers->listen_fd, (struct sockaddr *)own, address_size(own)) == 0 &&
        listen(peers->listen_fd, SOMAXCONN) == 0 &&
        getsockname(peers->listen_fd, (struct sockaddr *)own, &size) == 0)
        return 0;
    return err_set(err, "cannot listen for other ranks: %s", strerror(errno));
}

int peers_start_thread(struct peers *peers, struct error *err)
{
    const size_t said = (size_t)peers->size + GREETING_PROOF;
    size_t       i;
    int          rc;

    peers->callers = (size_t)peers->size + MORE;
    peers->caller = xcalloc(peers->callers, sizeof *peers->caller);
    for (i = 0; i < peers->callers; i++)
        peers->caller[i] = (struct caller){ .fd = -1, .said = xmalloc(said) };
    rc = thread_start(&peers->thread, answer_all, peers);
    if (rc != 0)
        return err_set(err, "cannot start a thread for other ranks: %s", strerror(rc));
    peers->is_answering = true;
    return 0;
}

void peers_stop_thread(struct peers *peers)
{
    size_t i;

    if (peers->is_answering && eventfd_write(peers->stop_fd, 1) == 0)
        pthread_join(peers->thread, NULL);
    peers->is_answering = false;
    for (i = 0; i < peers->callers; i++) {
        hang_up(&peers->caller[i].fd);
        free(peers->caller[i].said);
    }
    free(peers->caller);
    peers->callers = 0;
}

static void *answer_all(void *arg)
{
    struct peers   *peers = arg;
    struct pollfd  *ready = xcalloc(peers->callers + 2, sizeof *ready);
    struct caller **polled = xcalloc(peers->callers, sizeof *polled);
    size_t          count, i;

    for (;;) {
        count = poll_callers(peers, ready, polled);
        if (ready[0].revents != 0)
            break;
        for (i = 0; i < count; i++)
            if (ready[2 + i].revents != 0)
                take_bytes(peers, polled[i]);
        hang_up_late(peers);
        if (ready[1].revents != 0)
            take_caller(peers);
    }
    free(polled);
    free(ready);
    return NULL;
}

/* Waits for the callers, which it puts into polled; returns their number. poll() accepts no more
 * descriptors than a process may have, so those that are not there are left out. */
static size_t poll_callers(struct peers *peers, struct pollfd *ready, struct caller **polled)
{
    size_t count = 0, i;

    ready[0] = (struct pollfd){ .fd = peers->stop_fd, .events = POLLIN };
    ready[1] = (struct pollfd){ .fd = peers->listen_fd, .events = POLLIN };
    for (i = 0; i < peers->callers; i++) {
        if (peers->caller[i].fd < 0)
            continue;
        ready[2 + count] = (struct pollfd){ .fd = peers->caller[i].fd, .events = POLLIN };
        polled[count++] = &peers->caller[i];
    }
    if (poll(ready, count + 2, left_ms(peers)) < 0)
        for (i = 0; i < count + 2; i++)
            ready[i].revents = 0; /* a signal, or no memory: try again */
    return count;
}

/* ---- callers come, and are late ---- */

/* Returns the time until the next caller is late, as poll() takes it. */
static int left_ms(const struct peers *peers)
{
    const struct caller *next = oldest(peers);
    int64_t              left_ns;

    if (next == NULL)
        return -1;
    left_ns = next->until_ns - clock_now_ns();
    return left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0;
}

static void hang_up_late(struct peers *peers)
{
    const int64_t now_ns = clock_now_ns();
    size_t        i;

    for (i = 0; i < peers->callers; i++)
        if (peers->caller[i].fd >= 0 && peers->caller[i].until_ns <= now_ns)
            hang_up(&peers->caller[i].fd);
}

/* Returns the caller that has been connected for the longest time, or NULL. */
static struct caller *oldest(const struct peers *peers)
{
    struct caller *found = NULL;
    size_t         i;

    for (i = 0; i < peers->callers; i++)
        if (peers->caller[i].fd >= 0 &&
            (found == NULL || peers->caller[i].until_ns < found->until_ns))
            found = &peers->caller[i];
    return found;
}

static void take_caller(struct peers *peers)
{
    const int      fd = accept4(peers->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct caller *caller = NULL;
    size_t         i;

    for (i = 0; i < peers->callers && caller == NULL; i++)
        if (peers->caller[i].fd < 0)
            caller = &peers->caller[i];
    if (caller == NULL || (fd < 0 && (errno == EMFILE || errno == ENFILE)))
        caller = oldest(peers);
    if (caller != NULL)
        hang_up(&caller->fd);
    if (fd < 0) {
        (void)poll(NULL, 0, 10); /* too many open descriptors: wait before the next try */
        return;
    }
    caller->fd = fd;
    caller->until_ns = clock_now_ns() + GREETING_NS;
    caller->got = 0;
}

/* ---- what they say ---- */

/* A rank that was stopped finds the whole report behind the first message of a caller that has
 * exited. */
static void take_bytes(struct peers *peers, struct caller *caller)
{
    const size_t first = sizeof caller->first;
    size_t       all;
    ssize_t      n = 1;

    if (caller->got < first) {
        n = read_some(caller, &caller->first, first, 0);
        if (n < 0 || caller->got < first)
            return;
        if (!take_first(peers, caller))
            return;
    }
    all = first + said_size(peers, caller);
    n = read_some(caller, caller->said, all - first, first);
    if (n >= 0 && caller->got == all)
        take_said(peers, caller);
}

/* Reads towards size bytes; `before` were read before them. Returns their number, which may be 0,
 * or -1 if the caller has hung up. */
static ssize_t read_some(struct caller *caller, void *to, size_t size, size_t before)
{
    const size_t  have = caller->got - before;
    const ssize_t n = read(caller->fd, (char *)to + have, size - have);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        hang_up(&caller->fd);
        return -1;
    }
    caller->got += (size_t)n;
    return n;
}

/* Answers, or hangs up. */
static bool take_first(struct peers *peers, struct caller *caller)
{
    if (!greeting_is_for(&caller->first, peers->rank, peers->size) ||
        greeting_reply(&peers->secret, &caller->first, peers->begun, &caller->answer) < 0) {
        hang_up(&caller->fd);
        return false;
    }
    (void)send(caller->fd, &caller->answer, sizeof caller->answer, MSG_NOSIGNAL);
    return true;
}

static size_t said_size(const struct peers *peers, const struct caller *caller)
{
    return caller->first.purpose == GREETING_REPORT ? (size_t)peers->size + GREETING_PROOF
                                                    : GREETING_PROOF;
}

static void take_said(struct peers *peers, struct caller *caller)
{
    const size_t size = said_size(peers, caller) - GREETING_PROOF;

    if (greeting_is_proof(&peers->secret, &caller->first, &caller->answer, caller->said, size,
                          caller->said + size)) {
        if (caller->first.purpose == GREETING_REPORT)
            take_report(peers, caller);
        else
            take_join(peers, caller);
    }
    hang_up(&caller->fd);
}

static void take_report(struct peers *peers, const struct caller *caller)
{
    int rank;

    pthread_mutex_lock(&peers->mutex);
    peers->has_told[caller->first.from] = true;
    for (rank = 0; rank < peers->size; rank++)
        if (caller->said[rank] != 0)
            peers->is_lost[rank] = true;
    pthread_mutex_unlock(&peers->mutex);
    (void)send(caller->fd, "", 1, MSG_NOSIGNAL); /* a caller that has exited needs none */
}

/* A rank that joins again has not received the last byte on its first connection. This byte comes
 * before what peers_join()'s caller sends. */
static void take_join(struct peers *peers, struct caller *caller)
{
    int *joined = &peers->joined[caller->first.from];

    pthread_mutex_lock(&peers->mutex);
    if (!peers->is_joined) {
        (void)send(caller->fd, "", 1, MSG_NOSIGNAL);
        hang_up(joined);
        *joined = caller->fd;
        caller->fd = -1;
    }
    pthread_mutex_unlock(&peers->mutex);
    (void)eventfd_write(peers->joined_fd, 1);
}
