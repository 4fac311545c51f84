/* connect_probe.c - see connect_probe.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/connect_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "node/facts.h"
#include "xalloc.h"
#include "xevent.h"

static void        call_begin(struct call *call);
static int         call_open(const struct call *call);
static bool        read_ipv6(const char *text, struct sockaddr_in6 *address);
static void        connected_cb(evutil_socket_t fd, short what, void *arg);
static void        token_cb(evutil_socket_t fd, short what, void *arg);
static bool        has_token(const struct call *call);
static bool        has_load(const struct call *call);
static void        load_cb(evutil_socket_t fd, short what, void *arg);
static void        call_over(struct call *call, const char *why);
static const char *reason(int error);
static void        late_cb(evutil_socket_t fd, short what, void *arg);
static void        call_end(struct call *call, const char *why);

struct connect_probe *connect_probe_new(struct event_base  *base,
                                        const unsigned char token[CALL_TOKEN_BYTES],
                                        void (*done)(struct connect_probe *probe, void *arg),
                                        void *arg)
{
    struct connect_probe *probe = xcalloc(1, sizeof *probe);

    *probe = (struct connect_probe){ .base = base, .done = done, .arg = arg };
    memcpy(probe->token, token, sizeof probe->token);
    probe->late = evtimer_new(base, late_cb, probe);
    if (probe->late == NULL)
        xalloc_die();
    return probe;
}

void connect_probe_add(struct connect_probe *probe, const char *address, int port, int node)
{
    probe->call = xreallocarray(probe->call, probe->count + 1, sizeof *probe->call);
    probe->call[probe->count++] = (struct call){ .address = xstrdup(address), .port = port,
                                                 .node = node, .probe = probe, .fd = -1 };
}

void connect_probe_begin(struct connect_probe *probe, int timeout_ms)
{
    struct timeval limit = clock_interval(timeout_ms / 1000.0);
    size_t         i;

    for (i = 0; i < probe->count; i++)
        call_begin(&probe->call[i]);
    xevent_add(probe->late, &limit);
    if (probe->open == 0)
        probe->done(probe, probe->arg);
}

void connect_probe_free(struct connect_probe *probe)
{
    size_t i;

    if (probe == NULL)
        return;
    for (i = 0; i < probe->count; i++) {
        call_end(&probe->call[i], NULL);
        free(probe->call[i].address);
    }
    event_free(probe->late);
    free(probe->call);
    free(probe);
}

static void call_begin(struct call *call)
{
    call->fd = call_open(call);
    if (call->fd < 0) {
        snprintf(call->why, sizeof call->why, "%s", reason(errno));
        return;
    }
    call->event = event_new(call->probe->base, call->fd, EV_WRITE, connected_cb, call);
    if (call->event == NULL)
        xalloc_die();
    xevent_add(call->event, NULL);
    call->probe->open++;
}

static int call_open(const struct call *call)
{
    struct sockaddr_in  v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)call->port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)call->port) };
    struct sockaddr    *to = (struct sockaddr *)&v4;
    socklen_t           size = sizeof v4;
    int                 fd, error;

    if (read_ipv6(call->address, &v6)) {
        to = (struct sockaddr *)&v6;
        size = sizeof v6;
        if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) && v6.sin6_scope_id == 0) {
            errno = ENODEV; /* it means nothing without an interface */
            return -1;
        }
    } else if (inet_pton(AF_INET, call->address, &v4.sin_addr) != 1) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, to, size) == 0 || errno == EINPROGRESS)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* A link-local address comes with its zone, "fe80::1%eth0". */
static bool read_ipv6(const char *text, struct sockaddr_in6 *address)
{
    char        bytes[INET6_ADDRSTRLEN];
    const char *zone = strchr(text, '%');

    snprintf(bytes, sizeof bytes, "%.*s", (int)strcspn(text, "%"), text);
    if (zone != NULL)
        address->sin6_scope_id = if_nametoindex(zone + 1);
    return inet_pton(AF_INET6, bytes, &address->sin6_addr) == 1;
}

static void connected_cb(evutil_socket_t fd, short what, void *arg)
{
    struct call            *call = arg;
    struct sockaddr_storage own = { 0 };
    socklen_t               size = sizeof own, error_size = sizeof(int);
    char                    text[INET6_ADDRSTRLEN];
    int                     error = 0;

    (void)what;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) < 0 ||
        (error == 0 && getsockname(fd, (struct sockaddr *)&own, &size) < 0))
        error = errno;
    if (error != 0) {
        call_over(call, reason(error));
        return;
    }
    if (own.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&own)->sin6_addr, text, sizeof text);
    else
        inet_ntop(AF_INET, &((struct sockaddr_in *)&own)->sin_addr, text, sizeof text);
    facts_interface_of(text, call->interface, sizeof call->interface);
    event_assign(call->event, call->probe->base, fd, EV_READ | EV_PERSIST, token_cb, call);
    xevent_add(call->event, NULL);
}

static void token_cb(evutil_socket_t fd, short what, void *arg)
{
    struct call *call = arg;
    ssize_t      got = read(fd, call->got + call->have, sizeof call->got - call->have);

    (void)what;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    call->have += got > 0 ? (size_t)got : 0;
    if (got > 0 && call->have < sizeof call->got)
        return;
    if (!has_token(call)) {
        call_over(call, got < 0 ? reason(errno) : "another program answers there");
    } else if (call->probe->wants_load && !has_load(call)) {
        event_del(call->event);
        event_assign(call->event, call->probe->base, fd, EV_READ, load_cb, call);
        xevent_add(call->event, NULL);
    } else {
        call_over(call, NULL);
    }
}

static bool has_token(const struct call *call)
{
    return call->have >= sizeof call->got &&
           memcmp(call->got, call->probe->token, sizeof call->got) == 0;
}

/* Has a part of the load arrived? A packet that is lost by chance holds up all behind it. Whatever
 * ends the connection early, it is not the loss of packets. */
static bool has_load(const struct call *call)
{
    char byte;

    return recv(call->fd, &byte, 1, MSG_PEEK) >= 0 || (errno != EAGAIN && errno != EINTR);
}

static void load_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    call_over(arg, NULL);
}

/* When the last call is over, all are. */
static void call_over(struct call *call, const char *why)
{
    struct connect_probe *probe = call->probe;

    call_end(call, why);
    if (probe->open == 0)
        probe->done(probe, probe->arg);
}

/* connect() fails with EINVAL if the route is a blackhole. */
static const char *reason(int error)
{
    return error == EINVAL ? "the route there is a black hole" : strerror(error);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct connect_probe *probe = arg;
    size_t                i;

    (void)fd, (void)what;
    for (i = 0; i < probe->count; i++) {
        probe->call[i].is_lossy = probe->call[i].fd >= 0 && has_token(&probe->call[i]) &&
                                  !has_load(&probe->call[i]);
        call_end(&probe->call[i], has_token(&probe->call[i]) ? NULL : "timed out");
    }
    probe->done(probe, probe->arg);
}

/* why NULL: the address was reached, or the result is no longer needed. */
static void call_end(struct call *call, const char *why)
{
    if (call->fd < 0)
        return;
    event_free(call->event);
    close(call->fd);
    call->fd = -1;
    call->reached = why == NULL;
    snprintf(call->why, sizeof call->why, "%s", why != NULL ? why : "");
    call->probe->open--;
}
