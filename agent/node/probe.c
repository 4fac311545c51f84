/* probe.c - see probe.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/probe.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "frame.h"
#include "node/connect_probe.h"
#include "node/port.h"
#include "xalloc.h"
#include "xevent.h"

#define REST_S 0.1
#define LOSSY  "large packets from there do not arrive, small ones do; compare the MTU on the way"

/* Which addresses of PROBE connect a call belongs to. */
#define OF_NODE 0 /* those that node 0 has */
#define OF_NAME 1 /* those of --master_addr */

struct probe {
    struct event_base *base;
    void (*answer)(json_t *body, void *arg);
    void                 *arg;
    unsigned char         token[CALL_TOKEN_BYTES];
    int                   listen_fd;
    bool                  sends_load; /* to those that call */
    struct event         *caller; /* a connection has arrived */
    struct event         *rest;   /* after accept() failed for lack of a descriptor */
    struct event         *late;   /* ends listening */
    struct connect_probe *tries;  /* NULL: none in progress */
    char                 *unnamed; /* why the name has no addresses; NULL: it has, or there is
                                      none */
    struct held_port      held;
};

static int  listen_begin(struct probe *probe, const json_t *body, struct error *err);
static void caller_cb(evutil_socket_t fd, short what, void *arg);
static void rested_cb(evutil_socket_t fd, short what, void *arg);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void listen_end(struct probe *probe);
static int  connect_begin(struct probe *probe, const json_t *body, struct error *err);
static int  add_addresses(struct probe *probe, const json_t *list, int port, int of,
                          struct error *err);
static void reached_cb(struct connect_probe *tries, void *arg);
static const char *why_unreached(const struct probe *probe, const struct connect_probe *tries);
static int  peers_begin(struct probe *probe, const json_t *body, struct error *err);
static void peers_cb(struct connect_probe *tries, void *arg);
static void connect_probe_end(struct probe *probe);
static int  add_peer(struct probe *probe, const json_t *peer, struct error *err);
static int  port_begin(struct probe *probe, const json_t *body, struct error *err);
static int  read_token(struct probe *probe, const json_t *body, struct error *err);

struct probe *probe_new(struct event_base *base, void (*answer)(json_t *body, void *arg),
                        void *arg)
{
    struct probe *probe = xcalloc(1, sizeof *probe);

    *probe = (struct probe){ .base = base, .answer = answer, .arg = arg,
                             .listen_fd = -1, .held = { .fd = -1, .claim_fd = -1 } };
    return probe;
}

void probe_free(struct probe *probe)
{
    if (probe == NULL)
        return;
    probe_end(probe);
    port_forget(&probe->held);
    free(probe);
}

int probe_request(struct probe *probe, const json_t *body, struct error *err)
{
    const char *op = json_string_value(json_object_get(body, "op"));

    if (op != NULL && strcmp(op, "peers") == 0)
        return peers_begin(probe, body, err); /* other nodes still connect to us */
    if (op != NULL && strcmp(op, "port") == 0)
        return port_begin(probe, body, err); /* as they do while we hold MASTER_PORT */
    if (op != NULL && strcmp(op, "connect") == 0)
        return connect_begin(probe, body, err); /* node 0 connects to itself, too */
    probe_end(probe);
    if (op != NULL && strcmp(op, "listen") == 0)
        return listen_begin(probe, body, err);
    return err_set(err, "PROBE frame: unknown \"op\"");
}

void probe_end(struct probe *probe)
{
    listen_end(probe);
    connect_probe_end(probe);
}

int probe_release_port(struct probe *probe)
{
    if (probe->held.fd < 0)
        return 0;
    port_let_go(&probe->held);
    return probe->held.port;
}

static int listen_begin(struct probe *probe, const json_t *body, struct error *err)
{
    json_int_t     timeout_ms = json_integer_value(json_object_get(body, "timeout_ms"));
    struct timeval limit;
    struct error   why;
    int            port;

    if (read_token(probe, body, err) < 0)
        return -1;
    if (timeout_ms < 0 || timeout_ms > PROBE_TIMEOUT_MAX_MS)
        return err_set(err, "PROBE frame: \"timeout_ms\" is invalid");
    probe->sends_load = json_is_true(json_object_get(body, "load"));
    probe->listen_fd = port_listen(&port, &why);
    if (probe->listen_fd < 0) {
        probe->answer(json_pack("{s:s, s:s}", "op", "listen", "error", why.text), probe->arg);
        return 0;
    }
    probe->caller = event_new(probe->base, probe->listen_fd, EV_READ | EV_PERSIST, caller_cb,
                              probe);
    probe->rest = evtimer_new(probe->base, rested_cb, probe);
    probe->late = evtimer_new(probe->base, late_cb, probe);
    if (probe->caller == NULL || probe->rest == NULL || probe->late == NULL)
        xalloc_die();
    xevent_add(probe->caller, NULL);
    limit = clock_interval((double)timeout_ms / 1000);
    if (timeout_ms > 0)
        xevent_add(probe->late, &limit);
    probe->answer(json_pack("{s:s, s:i}", "op", "listen", "port", port), probe->arg);
    return 0;
}

static void caller_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval rest = clock_interval(REST_S);
    static const char    load[CALL_LOAD_BYTES];
    struct probe        *probe = arg;
    int                  caller = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)what;
    if (caller < 0) {
        event_del(probe->caller); /* it would be readable again at once */
        xevent_add(probe->rest, &rest);
        return;
    }
    /* The buffer of a new connection has room for both. The token leaves at once, in a packet of
     * its own. */
    send(caller, probe->token, sizeof probe->token, MSG_NOSIGNAL);
    if (probe->sends_load)
        send(caller, load, sizeof load, MSG_NOSIGNAL);
    close(caller);
}

static void rested_cb(evutil_socket_t fd, short what, void *arg)
{
    struct probe *probe = arg;

    (void)fd, (void)what;
    xevent_add(probe->caller, NULL);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    listen_end(arg);
}

static void listen_end(struct probe *probe)
{
    if (probe->caller != NULL)
        event_free(probe->caller);
    if (probe->rest != NULL)
        event_free(probe->rest);
    if (probe->late != NULL)
        event_free(probe->late);
    if (probe->listen_fd >= 0)
        close(probe->listen_fd);
    probe->caller = probe->rest = probe->late = NULL;
    probe->listen_fd = -1;
}

static int connect_begin(struct probe *probe, const json_t *body, struct error *err)
{
    const json_t *named = json_object_get(body, "named");
    json_int_t    port = json_integer_value(json_object_get(body, "port"));
    json_int_t    timeout_ms = json_integer_value(json_object_get(body, "timeout_ms"));
    const char   *why = json_string_value(json_object_get(body, "unnamed"));

    if (read_token(probe, body, err) < 0)
        return -1;
    if (port < 1 || port > 65535 || timeout_ms < 1 || timeout_ms > PROBE_TIMEOUT_MAX_MS)
        return err_set(err, "PROBE frame: \"port\" or \"timeout_ms\" is invalid");
    connect_probe_end(probe);
    probe->tries = connect_probe_new(probe->base, probe->token, reached_cb, probe);
    probe->tries->wants_load = json_is_true(json_object_get(body, "load"));
    probe->unnamed = why != NULL ? xstrdup(why) : NULL;
    if (add_addresses(probe, json_object_get(body, "addresses"), (int)port, OF_NODE, err) < 0 ||
        (named != NULL && add_addresses(probe, named, (int)port, OF_NAME, err) < 0))
        return -1;
    connect_probe_begin(probe->tries, (int)timeout_ms);
    return 0;
}

static int add_addresses(struct probe *probe, const json_t *list, int port, int of,
                         struct error *err)
{
    const json_t *address;
    size_t        i;

    if (!json_is_array(list) || json_array_size(list) > PROBE_ADDRESSES_MAX)
        return err_set(err, "PROBE frame: the addresses are no list, or more than %d",
                       PROBE_ADDRESSES_MAX);
    json_array_foreach(list, i, address) {
        if (!json_is_string(address))
            return err_set(err, "PROBE frame: an address is not a string");
        connect_probe_add(probe->tries, json_string_value(address), port, of);
    }
    return 0;
}

/* Reports in the order of the request: the launcher prefers the first
 * address that all nodes reach. */
static void reached_cb(struct connect_probe *tries, void *arg)
{
    struct probe *probe = arg;
    json_t       *reached = json_array();
    const char   *why = why_unreached(probe, tries);
    json_t       *answer = json_pack("{s:s, s:o}", "op", "connect", "reached", reached);
    json_t       *entry;
    size_t        i;

    for (i = 0; i < tries->count; i++) {
        if (!tries->call[i].reached || tries->call[i].node != OF_NODE)
            continue;
        entry = json_pack("{s:s, s:s}", "addr", tries->call[i].address, "if",
                          tries->call[i].interface);
        if (tries->call[i].is_lossy)
            json_object_set_new(entry, "lossy", json_true());
        json_array_append_new(reached, entry);
    }
    if (why != NULL)
        json_object_set_new(answer, "name", json_string(why));
    connect_probe_end(probe);
    probe->answer(answer, probe->arg);
}

/* Returns why the name does not lead to node 0; "": it does, as programs try all addresses of a
 * name. NULL: there is no name, or this node cannot tell. */
static const char *why_unreached(const struct probe *probe, const struct connect_probe *tries)
{
    const char *why = probe->unnamed;
    size_t      i;

    for (i = 0; i < tries->count; i++) {
        if (tries->call[i].node != OF_NAME)
            continue;
        if (tries->call[i].reached)
            return "";
        if (why == NULL)
            why = tries->call[i].why;
    }
    return why;
}

static int peers_begin(struct probe *probe, const json_t *body, struct error *err)
{
    const json_t *list = json_object_get(body, "peers"), *peer;
    json_int_t    timeout_ms = json_integer_value(json_object_get(body, "timeout_ms"));
    size_t        i;

    if (read_token(probe, body, err) < 0)
        return -1;
    if (!json_is_array(list) || json_array_size(list) > PROBE_ADDRESSES_MAX || timeout_ms < 1 ||
        timeout_ms > PROBE_TIMEOUT_MAX_MS)
        return err_set(err, "PROBE frame: \"peers\" or \"timeout_ms\" is invalid");
    connect_probe_end(probe);
    probe->tries = connect_probe_new(probe->base, probe->token, peers_cb, probe);
    probe->tries->wants_load = json_is_true(json_object_get(body, "load"));
    json_array_foreach(list, i, peer)
        if (add_peer(probe, peer, err) < 0)
            return -1;
    connect_probe_begin(probe->tries, (int)timeout_ms);
    return 0;
}

static void peers_cb(struct connect_probe *tries, void *arg)
{
    struct probe *probe = arg;
    json_t       *unreached = json_array();
    size_t        i;

    for (i = 0; i < tries->count; i++)
        if (!tries->call[i].reached || tries->call[i].is_lossy)
            json_array_append_new(unreached,
                                  json_pack("{s:i, s:s}", "node", tries->call[i].node, "why",
                                            tries->call[i].is_lossy ? LOSSY
                                                                    : tries->call[i].why));
    connect_probe_end(probe);
    probe->answer(json_pack("{s:s, s:o}", "op", "peers", "unreached", unreached), probe->arg);
}

static void connect_probe_end(struct probe *probe)
{
    connect_probe_free(probe->tries);
    free(probe->unnamed);
    probe->tries = NULL;
    probe->unnamed = NULL;
}

static int add_peer(struct probe *probe, const json_t *peer, struct error *err)
{
    const char *address = json_string_value(json_object_get(peer, "addr"));
    json_int_t  port = json_integer_value(json_object_get(peer, "port"));
    json_int_t  node = json_integer_value(json_object_get(peer, "node"));

    if (address == NULL || port < 1 || port > 65535 || node < 0 || node > INT_MAX)
        return err_set(
            err, "PROBE frame: \"addr\", \"port\" or \"node\" of a peer is missing or invalid");
    connect_probe_add(probe->tries, address, (int)port, (int)node);
    return 0;
}

static int port_begin(struct probe *probe, const json_t *body, struct error *err)
{
    json_int_t   port = json_integer_value(json_object_get(body, "port"));
    bool         fixed = json_is_true(json_object_get(body, "fixed"));
    char         holder[128];
    struct error why;
    json_t      *answer;

    if (port < 1 || port > 65535)
        return err_set(err, "PROBE frame: \"port\" is missing or not from 1 to 65535");
    port_forget(&probe->held);
    if (port_hold(&probe->held, (int)port, fixed, holder, sizeof holder, &why) == 0) {
        answer = json_pack("{s:s, s:i}", "op", "port", "port", probe->held.port);
    } else {
        answer = json_pack("{s:s, s:I, s:s}", "op", "port", "port", port, "error", why.text);
        if (holder[0] != '\0')
            json_object_set_new(answer, "holder", json_text(holder, strlen(holder)));
    }
    probe->answer(answer, probe->arg);
    return 0;
}

static int read_token(struct probe *probe, const json_t *body, struct error *err)
{
    const char *text = json_string_value(json_object_get(body, "token"));
    char        pair[3] = "", *end;
    size_t      i;

    if (text == NULL || strlen(text) != 2 * CALL_TOKEN_BYTES ||
        strspn(text, "0123456789abcdef") != strlen(text))
        return err_set(err, "PROBE frame: \"token\" is not 32 hex digits");
    for (i = 0; i < CALL_TOKEN_BYTES; i++) {
        memcpy(pair, text + 2 * i, 2);
        probe->token[i] = (unsigned char)strtoul(pair, &end, 16);
    }
    return 0;
}
