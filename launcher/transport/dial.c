/* dial.c - see dial.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xalloc.h"
#include "xevent.h"

#define STAGGER_US    250000 /* RFC 8305, section 8 */
#define ADDRESSES_MAX 16     /* a name with more belongs to a load balancer */

/* How long sent bytes may stay unacknowledged before TCP gives up: longer than --dead-after, so
 * that muster reports first, with a better message. */
#define RUN_SILENCE_S 30.0
/* At the start the limit is shorter, but a packet that is lost twice is no silence. */
#define LEAST_SILENCE_S 2.0

/* On a bad line a lost packet should be sent again soon, not after ever longer pauses: five
 * losses in a row would take 15 s, which is all of --dead-after. Linux 6.15 can limit the
 * pause; on older kernels THIN_LINEAR does this, with some congestion controls. */
#define RESEND_MOST_MS 1000
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

struct attempt {
    struct dial           *dial;
    const struct addrinfo *address;
    int                    fd;    /* -1: not started, or failed */
    int                    error; /* errno; 0 while trying */
    struct event          *connected;
};

struct dial {
    struct event_base *base;
    struct attempt     attempt[ADDRESSES_MAX];
    size_t             count, begun;
    int                segment_bytes;
    struct event      *next; /* timer for the next address, or for the report */
    dial_f            *done;
    void              *arg;
};

static size_t sort_addresses(struct dial *d, const struct addrinfo *addresses);
static void   next_cb(evutil_socket_t fd, short what, void *arg);
static void   begin(struct attempt *a);
static void   connected_cb(evutil_socket_t fd, short what, void *arg);
static void   set_options(int fd, int segment_bytes);
static void   drop(struct attempt *a);

struct dial *dial_start(struct event_base *base, const struct addrinfo *addresses,
                        int segment_bytes, dial_f *done, void *arg)
{
    struct dial   *d = xcalloc(1, sizeof *d);
    struct timeval now = { 0 };

    d->base = base;
    d->segment_bytes = segment_bytes;
    d->done = done;
    d->arg = arg;
    d->count = sort_addresses(d, addresses);
    d->next = evtimer_new(base, next_cb, d);
    xevent_add(d->next, &now);
    return d;
}

void dial_free(struct dial *d)
{
    size_t i;

    if (d == NULL)
        return;
    for (i = 0; i < d->count; i++)
        drop(&d->attempt[i]);
    event_free(d->next);
    free(d);
}

void dial_describe(const struct dial *d, struct error *text)
{
    char   host[NI_MAXHOST], port[NI_MAXSERV];
    size_t i;

    text->text[0] = '\0';
    for (i = 0; i < d->begun; i++) {
        if (getnameinfo(d->attempt[i].address->ai_addr, d->attempt[i].address->ai_addrlen, host,
                        sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
            continue;
        err_set(text, "%s%s%s port %s: %s", text->text, text->text[0] != '\0' ? "; " : "", host,
                port, d->attempt[i].error != 0 ? strerror(d->attempt[i].error) : "no answer");
    }
}

/* Sorts addresses in the order of getaddrinfo() (RFC 6724), with the two families
 * alternating. */
static size_t sort_addresses(struct dial *d, const struct addrinfo *addresses)
{
    const struct addrinfo *same = addresses, *other = addresses;
    size_t                 count = 0;

    while (count < ADDRESSES_MAX) {
        while (same != NULL && same->ai_family != addresses->ai_family)
            same = same->ai_next;
        while (other != NULL && other->ai_family == addresses->ai_family)
            other = other->ai_next;
        if (same == NULL && other == NULL)
            break;
        if (same != NULL) {
            d->attempt[count++] = (struct attempt){ .dial = d, .address = same, .fd = -1 };
            same = same->ai_next;
        }
        if (other != NULL && count < ADDRESSES_MAX) {
            d->attempt[count++] = (struct attempt){ .dial = d, .address = other, .fd = -1 };
            other = other->ai_next;
        }
    }
    return count;
}

static void next_cb(evutil_socket_t fd, short what, void *arg)
{
    struct dial   *d = arg;
    struct timeval stagger = { .tv_usec = STAGGER_US }, now = { 0 };
    struct error   err;
    size_t         i, failed = 0;

    (void)fd;
    (void)what;
    if (d->begun < d->count) {
        begin(&d->attempt[d->begun++]);
        xevent_add(d->next, d->attempt[d->begun - 1].error != 0 ? &now : &stagger);
        return;
    }
    for (i = 0; i < d->count; i++)
        failed += d->attempt[i].error != 0;
    if (failed == d->count) {
        dial_describe(d, &err);
        d->done(-1, &err, d->arg); /* last: it may free d */
    }
}

static void begin(struct attempt *a)
{
    const struct addrinfo *to = a->address;

    a->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
    if (a->fd < 0) {
        a->error = errno;
        return;
    }
    set_options(a->fd, a->dial->segment_bytes);
    if (connect(a->fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS) {
        a->error = errno;
        drop(a);
        return;
    }
    a->connected = event_new(a->dial->base, a->fd, EV_WRITE, connected_cb, a);
    xevent_add(a->connected, NULL);
}

static void connected_cb(evutil_socket_t fd, short what, void *arg)
{
    struct attempt *a = arg;
    struct dial    *d = a->dial;
    socklen_t       size = sizeof a->error;
    struct timeval  now = { 0 };

    (void)what;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &a->error, &size) < 0)
        a->error = errno;
    if (a->error != 0) {
        drop(a);
        xevent_add(d->next, &now);
        return;
    }
    a->fd = -1;
    evtimer_del(d->next);
    d->done(fd, NULL, d->arg); /* last: it may free d */
}

void dial_limit_silence(int fd, double seconds)
{
    double       limit_s = seconds > LEAST_SILENCE_S ? seconds : LEAST_SILENCE_S;
    unsigned int limit_ms = (unsigned int)((seconds > 0 ? limit_s : RUN_SILENCE_S) * 1e3);
    int          is_probed = seconds > 0, every_s = 1;
    int          idle_s = limit_s > 4 ? (int)(limit_s / 2) : 1;

    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &is_probed, sizeof is_probed);
}

bool dial_is_silent(int fd, double seconds)
{
    struct tcp_info info;
    socklen_t       size = sizeof info;

    return fd >= 0 && getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           (info.tcpi_unacked > 0 || info.tcpi_probes > 0) &&
           info.tcpi_last_ack_recv >= seconds * 1e3;
}

/* libssh does not disable Nagle's algorithm, which with delayed ACKs costs 40 ms per stage.
 */
static void set_options(int fd, int segment_bytes)
{
    int          on = 1;
    unsigned int pause_ms = RESEND_MOST_MS;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &pause_ms, sizeof pause_ms);
    setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof on);
    dial_limit_silence(fd, 0);
    if (segment_bytes > 0)
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, sizeof segment_bytes);
}

static void drop(struct attempt *a)
{
    if (a->connected != NULL)
        event_free(a->connected);
    a->connected = NULL;
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}
