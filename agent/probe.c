/* probe.c - see probe.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "facts.h"
#include "frame.h"
#include "port.h"
#include "xalloc.h"
#include "xevent.h"

/* One call to one address. */
struct call {
    struct probe *probe;
    char         *address;
    int           fd;      /* -1: over */
    struct event *event;
    unsigned char got[PROBE_TOKEN_BYTES];
    size_t        have;
    bool          reached;
    char          interface[32];
};

struct probe {
    struct event_base *base;
    void             (*answer)(json_t *body, void *arg);
    void              *arg;
    unsigned char      token[PROBE_TOKEN_BYTES];
    int                listen_fd;
    struct event      *caller;    /* somebody calls */
    struct event      *late;
    struct call       *call;
    size_t             calls, open;
    int                held_fd, held_port;
};

static int  listen_begin(struct probe *probe, const json_t *body, struct error *err);
static int  connect_begin(struct probe *probe, const json_t *body, struct error *err);
static int  port_begin(struct probe *probe, const json_t *body, struct error *err);
static void caller_cb(evutil_socket_t fd, short what, void *arg);
static void call_begin(struct call *call, int port);
static int  call_open(const char *address, int port);
static void connected_cb(evutil_socket_t fd, short what, void *arg);
static void token_cb(evutil_socket_t fd, short what, void *arg);
static void call_end(struct call *call, bool reached);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void report(struct probe *probe);
static int  read_token(struct probe *probe, const json_t *body, struct error *err);

struct probe *probe_new(struct event_base *base, void (*answer)(json_t *body, void *arg),
                        void *arg)
{
    struct probe *probe = xcalloc(1, sizeof *probe);

    *probe = (struct probe){ .base = base, .answer = answer, .arg = arg,
                             .listen_fd = -1, .held_fd = -1 };
    return probe;
}

void probe_free(struct probe *probe)
{
    if (probe == NULL)
        return;
    probe_end(probe);
    probe_release_port(probe);
    free(probe);
}

int probe_request(struct probe *probe, const json_t *body, struct error *err)
{
    const char *op = json_string_value(json_object_get(body, "op"));

    probe_end(probe);
    if (op != NULL && strcmp(op, "listen") == 0)
        return listen_begin(probe, body, err);
    if (op != NULL && strcmp(op, "connect") == 0)
        return connect_begin(probe, body, err);
    if (op != NULL && strcmp(op, "port") == 0)
        return port_begin(probe, body, err);
    return err_set(err, "PROBE frame: no \"op\" that is known");
}

void probe_end(struct probe *probe)
{
    size_t i;

    if (probe->caller != NULL)
        event_free(probe->caller);
    if (probe->late != NULL)
        event_free(probe->late);
    if (probe->listen_fd >= 0)
        close(probe->listen_fd);
    for (i = 0; i < probe->calls; i++) {
        call_end(&probe->call[i], false);
        free(probe->call[i].address);
    }
    free(probe->call);
    probe->caller = probe->late = NULL;
    probe->call = NULL;
    probe->calls = probe->open = 0;
    probe->listen_fd = -1;
}

int probe_release_port(struct probe *probe)
{
    if (probe->held_fd < 0)
        return 0;
    close(probe->held_fd);
    probe->held_fd = -1;
    return probe->held_port;
}

static int listen_begin(struct probe *probe, const json_t *body, struct error *err)
{
    struct error why;
    int          port;

    if (read_token(probe, body, err) < 0)
        return -1;
    probe->listen_fd = port_listen(&port, &why);
    if (probe->listen_fd < 0) {
        probe->answer(json_pack("{s:s, s:s}", "op", "listen", "error", why.text), probe->arg);
        return 0;
    }
    probe->caller = event_new(probe->base, probe->listen_fd, EV_READ | EV_PERSIST, caller_cb,
                              probe);
    if (probe->caller == NULL)
        xalloc_die();
    xevent_add(probe->caller, NULL);
    probe->answer(json_pack("{s:s, s:i}", "op", "listen", "port", port), probe->arg);
    return 0;
}

static void caller_cb(evutil_socket_t fd, short what, void *arg)
{
    struct probe *probe = arg;
    int           caller = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)what;
    if (caller < 0)
        return;
    /* 16 bytes always fit the buffer of a fresh connection. */
    send(caller, probe->token, sizeof probe->token, MSG_NOSIGNAL);
    close(caller);
}

static int connect_begin(struct probe *probe, const json_t *body, struct error *err)
{
    const json_t  *list = json_object_get(body, "addresses");
    json_int_t     port = json_integer_value(json_object_get(body, "port"));
    json_int_t     timeout_ms = json_integer_value(json_object_get(body, "timeout_ms"));
    size_t         i, count = json_array_size(list);
    struct timeval limit = { .tv_sec = (time_t)(timeout_ms / 1000),
                             .tv_usec = (suseconds_t)(timeout_ms % 1000 * 1000) };

    if (read_token(probe, body, err) < 0)
        return -1;
    if (!json_is_array(list) || count > PROBE_ADDRESSES_MAX || port < 1 || port > 65535 ||
        timeout_ms < 1 || timeout_ms > PROBE_TIMEOUT_MAX_MS)
        return err_set(err, "PROBE frame: \"addresses\", \"port\" or \"timeout_ms\" is wrong");
    for (i = 0; i < count; i++)
        if (!json_is_string(json_array_get(list, i)))
            return err_set(err, "PROBE frame: an address that is no text");
    probe->call = xcalloc(count + 1, sizeof *probe->call);
    probe->calls = count;
    for (i = 0; i < count; i++) {
        const char *address = json_string_value(json_array_get(list, i));

        probe->call[i] = (struct call){ .probe = probe, .fd = -1, .address = xstrdup(address) };
        call_begin(&probe->call[i], (int)port);
    }
    probe->late = evtimer_new(probe->base, late_cb, probe);
    if (probe->late == NULL)
        xalloc_die();
    xevent_add(probe->late, &limit);
    if (probe->open == 0)
        report(probe);
    return 0;
}

static void call_begin(struct call *call, int port)
{
    call->fd = call_open(call->address, port);
    if (call->fd < 0)
        return;
    call->event = event_new(call->probe->base, call->fd, EV_WRITE, connected_cb, call);
    if (call->event == NULL)
        xalloc_die();
    xevent_add(call->event, NULL);
    call->probe->open++;
}

static int call_open(const char *address, int port)
{
    struct sockaddr_in  v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    struct sockaddr    *to = (struct sockaddr *)&v4;
    socklen_t           size = sizeof v4;
    int                 fd;

    if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
        to = (struct sockaddr *)&v6;
        size = sizeof v6;
    } else if (inet_pton(AF_INET, address, &v4.sin_addr) != 1) {
        return -1;
    }
    fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, to, size) < 0 && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void connected_cb(evutil_socket_t fd, short what, void *arg)
{
    struct call            *call = arg;
    struct sockaddr_storage own = { 0 };
    socklen_t               size = sizeof own, error_size = sizeof(int);
    char                    text[INET6_ADDRSTRLEN];
    int                     error = 0;

    (void)what;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) < 0 || error != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &size) < 0) {
        call_end(call, false);
        if (call->probe->open == 0)
            report(call->probe);
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
    struct call  *call = arg;
    struct probe *probe = call->probe;
    ssize_t       got = read(fd, call->got + call->have, sizeof call->got - call->have);

    (void)what;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    call->have += got > 0 ? (size_t)got : 0;
    if (got > 0 && call->have < sizeof call->got)
        return;
    call_end(call, call->have == sizeof call->got &&
                       memcmp(call->got, probe->token, sizeof call->got) == 0);
    if (probe->open == 0)
        report(probe);
}

static void call_end(struct call *call, bool reached)
{
    if (call->fd < 0)
        return;
    event_free(call->event);
    close(call->fd);
    call->fd = -1;
    call->reached = reached;
    call->probe->open--;
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct probe *probe = arg;
    size_t        i;

    (void)fd, (void)what;
    for (i = 0; i < probe->calls; i++)
        call_end(&probe->call[i], false);
    report(probe);
}

/* In the order asked: the launcher prefers the first that all nodes reach. */
static void report(struct probe *probe)
{
    json_t *reached = json_array();
    size_t  i;

    for (i = 0; i < probe->calls; i++)
        if (probe->call[i].reached)
            json_array_append_new(reached, json_pack("{s:s, s:s}", "addr", probe->call[i].address,
                                                     "if", probe->call[i].interface));
    probe_end(probe);
    probe->answer(json_pack("{s:s, s:o}", "op", "connect", "reached", reached), probe->arg);
}

static int port_begin(struct probe *probe, const json_t *body, struct error *err)
{
    json_int_t   wanted = json_integer_value(json_object_get(body, "port"));
    int          port = (int)wanted;
    char         holder[128];
    struct error why;
    json_t      *answer;

    if (wanted < 1 || wanted > 65535)
        return err_set(err, "PROBE frame: \"port\" is missing, or none from 1 to 65535");
    probe_release_port(probe);
    probe->held_fd = port_hold(&port, json_is_true(json_object_get(body, "fixed")), holder,
                               sizeof holder, &why);
    probe->held_port = port;
    answer = json_pack("{s:s, s:i}", "op", "port", "port", port);
    if (probe->held_fd < 0)
        json_object_set_new(answer, "error", json_string(why.text));
    if (probe->held_fd < 0 && holder[0] != '\0')
        json_object_set_new(answer, "holder", json_text(holder, strlen(holder)));
    probe->answer(answer, probe->arg);
    return 0;
}

static int read_token(struct probe *probe, const json_t *body, struct error *err)
{
    const char *text = json_string_value(json_object_get(body, "token"));
    char        pair[3] = "", *end;
    size_t      i;

    if (text == NULL || strlen(text) != 2 * PROBE_TOKEN_BYTES ||
        strspn(text, "0123456789abcdef") != strlen(text))
        return err_set(err, "PROBE frame: no \"token\" of 32 hex digits");
    for (i = 0; i < PROBE_TOKEN_BYTES; i++) {
        memcpy(pair, text + 2 * i, 2);
        probe->token[i] = (unsigned char)strtoul(pair, &end, 16);
    }
    return 0;
}
