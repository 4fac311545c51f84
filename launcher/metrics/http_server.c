/* http_server.c - see http_server.h
 *
 * evhttp 2.1 accepts any number of connections, and does not tell when one ends before its first
 * request. So we make the bufferevent of each, and keep a reference: once evhttp has freed it, it
 * has no callbacks any more. We look often, and free it then, which closes the connection.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "metrics/http_server.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>

#include "clock.h"
#include "xalloc.h"
#include "xevent.h"

#define SLOTS    (HTTP_MOST + 32) /* the oldest need a turn of the loop to end */
#define LOOK_S   0.1
#define AGAIN_S  0.1              /* pause after accept() failed: no descriptor is left */
#define READ_MAX (HTTP_HEAD_MAX + HTTP_BODY_MAX) /* bytes that are read ahead of evhttp */
#define METHODS                                                                                  \
    (EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |   \
     EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE | EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH)

struct http_server {
    struct event_base       *base;
    struct evhttp           *http;
    struct evconnlistener   *listener; /* evhttp's */
    const struct http_path  *path;
    void                    *arg;
    struct event            *look;  /* pending while there are connections */
    struct event            *again; /* listen again */
    struct connection {
        struct bufferevent *bev; /* NULL: free */
        uint64_t            number;
        bool                is_ending; /* it was the oldest */
    } slot[SLOTS];
    size_t   open; /* those that are not ending */
    uint64_t count;
};

/* evconnlistener calls accept_failed_cb() with an argument of evhttp's: the one server is here. */
static struct http_server *the_server;

static void                    accept_failed_cb(struct evconnlistener *listener, void *arg);
static void                    again_cb(evutil_socket_t fd, short what, void *arg);
static struct bufferevent     *connected_cb(struct event_base *base, void *arg);
static struct connection      *find_free(struct http_server *server);
static void                    end_oldest(struct http_server *server);
static void                    look_cb(evutil_socket_t fd, short what, void *arg);
static bool                    look(struct http_server *server);
static bool                    is_gone(struct bufferevent *bev);
static void                    request_cb(struct evhttp_request *request, void *arg);
static const struct http_path *find_path(const struct http_server *server, const char *path);

struct http_server *http_server_new(struct event_base *base, int fd, const struct http_path *path,
                                    void *arg)
{
    struct http_server *server = xcalloc(1, sizeof *server);

    server->base = base;
    server->path = path;
    server->arg = arg;
    server->look = xevent_new(base, -1, look_cb, server);
    server->again = xevent_new(base, -1, again_cb, server);
    server->http = evhttp_new(base);
    server->listener = evconnlistener_new(
        base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (server->http == NULL || server->listener == NULL ||
        evhttp_bind_listener(server->http, server->listener) == NULL)
        xalloc_die();
    evconnlistener_set_error_cb(server->listener, accept_failed_cb);
    evhttp_set_bevcb(server->http, connected_cb, server);
    evhttp_set_gencb(server->http, request_cb, server);
    evhttp_set_allowed_methods(server->http, METHODS);
    evhttp_set_max_headers_size(server->http, HTTP_HEAD_MAX);
    evhttp_set_max_body_size(server->http, HTTP_BODY_MAX);
    evhttp_set_timeout(server->http, HTTP_IDLE_S);
    the_server = server;
    return server;
}

void http_server_free(struct http_server *server)
{
    size_t i;

    if (server == NULL)
        return;
    evhttp_free(server->http);
    for (i = 0; i < SLOTS; i++)
        if (server->slot[i].bev != NULL)
            bufferevent_decref(server->slot[i].bev);
    event_free(server->look);
    event_free(server->again);
    free(server);
}

/* --- connections ----------------------------------------------------------------- */

static void accept_failed_cb(struct evconnlistener *listener, void *arg)
{
    const struct timeval pause = clock_interval(AGAIN_S);

    (void)arg;
    evconnlistener_disable(listener);
    end_oldest(the_server);
    xevent_add(the_server->again, &pause);
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    struct http_server *server = arg;

    (void)fd, (void)what;
    evconnlistener_enable(server->listener);
}

/* evhttp has accepted a connection, whose descriptor the bufferevent will get. */
static struct bufferevent *connected_cb(struct event_base *base, void *arg)
{
    struct http_server  *server = arg;
    struct bufferevent  *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    const struct timeval often = clock_interval(LOOK_S);
    struct connection   *made;

    if (bev == NULL)
        xalloc_die();
    if (server->open >= HTTP_MOST)
        end_oldest(server);
    made = find_free(server);
    if (made == NULL) { /* not reached: the listener is disabled then */
        bufferevent_free(bev);
        return NULL;
    }
    bufferevent_setwatermark(bev, EV_READ, 0, READ_MAX);
    bufferevent_incref(bev);
    *made = (struct connection){ .bev = bev, .number = server->count++ };
    server->open++;
    if (find_free(server) == NULL)
        evconnlistener_disable(server->listener); /* until a look has found a free one */
    if (!event_pending(server->look, EV_TIMEOUT, NULL))
        xevent_add(server->look, &often);
    return bev;
}

static struct connection *find_free(struct http_server *server)
{
    size_t i;

    for (i = 0; i < SLOTS; i++)
        if (server->slot[i].bev == NULL)
            return &server->slot[i];
    return NULL;
}

/* evhttp reads the end of the connection, and frees it. */
static void end_oldest(struct http_server *server)
{
    struct connection *oldest = NULL, *one;

    for (one = server->slot; one < server->slot + SLOTS; one++)
        if (one->bev != NULL && !one->is_ending && (oldest == NULL || one->number < oldest->number))
            oldest = one;
    if (oldest == NULL)
        return;
    shutdown(bufferevent_getfd(oldest->bev), SHUT_RDWR);
    oldest->is_ending = true;
    server->open--;
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    struct http_server  *server = arg;
    const struct timeval often = clock_interval(LOOK_S);

    (void)fd, (void)what;
    if (look(server))
        xevent_add(server->look, &often);
}

/* Lets go of connections that evhttp has freed. True: some are left. */
static bool look(struct http_server *server)
{
    struct connection *one;
    bool               is_any = false, was_full = find_free(server) == NULL;

    for (one = server->slot; one < server->slot + SLOTS; one++) {
        if (one->bev == NULL)
            continue;
        if (!is_gone(one->bev)) {
            is_any = true;
            continue;
        }
        server->open -= one->is_ending ? 0 : 1;
        bufferevent_decref(one->bev);
        one->bev = NULL;
    }
    if (was_full && find_free(server) != NULL)
        evconnlistener_enable(server->listener);
    return is_any;
}

static bool is_gone(struct bufferevent *bev)
{
    bufferevent_data_cb  read_cb, write_cb;
    bufferevent_event_cb event_cb;
    void                *arg;

    bufferevent_getcb(bev, &read_cb, &write_cb, &event_cb, &arg);
    return arg == NULL;
}

/* --- requests ---------------------------------------------------------------------- */

static void request_cb(struct evhttp_request *request, void *arg)
{
    struct http_server       *server = arg;
    const struct evhttp_uri  *uri = evhttp_request_get_evhttp_uri(request);
    enum evhttp_cmd_type      method = evhttp_request_get_command(request);
    const struct http_path   *path;

    path = find_path(server, uri != NULL ? evhttp_uri_get_path(uri) : NULL);
    if (path == NULL) {
        http_server_refuse(request, HTTP_NOTFOUND, "not found");
    } else if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
        evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", "GET, HEAD");
        http_server_refuse(request, HTTP_BADMETHOD, "only GET and HEAD");
    } else {
        path->answer(request, server->arg);
    }
}

/* The path is compared as it came: what is encoded in it is not decoded. */
static const struct http_path *find_path(const struct http_server *server, const char *path)
{
    const struct http_path *one;

    for (one = server->path; path != NULL && one->path != NULL; one++)
        if (strcmp(one->path, path) == 0)
            return one;
    return NULL;
}

void http_server_refuse(struct evhttp_request *request, int code, const char *words)
{
    struct evbuffer *body = evbuffer_new();

    if (body == NULL)
        xalloc_die();
    http_server_headers(request, "text/plain; charset=utf-8");
    if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD)
        evbuffer_add_printf(body, "%s\n", words);
    evhttp_send_reply(request, code, words, body);
    evbuffer_free(body);
}

void http_server_reply(struct evhttp_request *request, const char *type, const char *bytes,
                       size_t size, evbuffer_ref_cleanup_cb free_cb, void *arg)
{
    struct evbuffer *body = evbuffer_new();
    char             length[24];

    if (body == NULL)
        xalloc_die();
    http_server_headers(request, type);
    if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD) {
        snprintf(length, sizeof length, "%zu", size);
        evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Length", length);
        free_cb(bytes, size, arg);
    } else if (evbuffer_add_reference(body, bytes, size, free_cb, arg) < 0) {
        xalloc_die();
    }
    evhttp_send_reply(request, HTTP_OK, "OK", body);
    evbuffer_free(body);
}

/* A browser shows it as what it is called, and keeps no copy. */
void http_server_headers(struct evhttp_request *request, const char *type)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_add_header(headers, "Cache-Control", "no-store");
}

const char *http_server_header(struct evhttp_request *request, const char *name)
{
    return evhttp_find_header(evhttp_request_get_input_headers(request), name);
}
