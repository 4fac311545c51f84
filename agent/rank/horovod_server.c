/* horovod_server.c - see horovod_server.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/horovod_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "clock.h"
#include "rank/horovod_store.h"
#include "xevent.h"

#define REST_S       0.1
#define IDLE_S       10   /* then it hangs up */
#define HEADERS_MAX  8192 /* bytes of a request line and its headers */

struct horovod_server {
    struct horovod_store  *store;
    struct evhttp         *http;
    struct evconnlistener *listener; /* the HTTP server's, which frees it */
    struct event          *rest;     /* after accept() failed for lack of a descriptor */
    struct in_addr         address;  /* INADDR_ANY: it answers at all */
};

/* For busy_cb(), which libevent gives evhttp's argument in place of ours. */
static struct horovod_server *only;

static int  listen_anywhere(int *port, struct error *err);
static bool is_here(struct in_addr address);
static void request_cb(struct evhttp_request *request, void *arg);
static bool is_at_address(const struct horovod_server *server, struct evhttp_request *request);
static int  answer(struct horovod_store *store, struct evhttp_request *request,
                   struct evbuffer *out);
static void busy_cb(struct evconnlistener *listener, void *arg);
static void rested_cb(evutil_socket_t fd, short what, void *arg);

struct horovod_server *horovod_server_new(struct event_base *base, int *port, struct error *err)
{
    struct horovod_server *server;
    int                    fd = listen_anywhere(port, err);

    if (fd < 0)
        return NULL;
    server = xcalloc(1, sizeof *server);
    server->store = horovod_store_new();
    server->rest = xevent_new(base, -1, rested_cb, server);
    server->http = evhttp_new(base);
    server->listener = evconnlistener_new(base, NULL, NULL,
                                          LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC |
                                              LEV_OPT_DISABLED, 0, fd);
    if (server->http == NULL || server->listener == NULL ||
        evhttp_bind_listener(server->http, server->listener) == NULL)
        xalloc_die();
    evconnlistener_set_error_cb(server->listener, busy_cb);
    only = server;
    evhttp_set_allowed_methods(server->http,
                               EVHTTP_REQ_GET | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE);
    evhttp_set_max_headers_size(server->http, HEADERS_MAX);
    evhttp_set_max_body_size(server->http, HOROVOD_VALUE_MAX);
    evhttp_set_timeout(server->http, IDLE_S);
    evhttp_set_gencb(server->http, request_cb, server);
    return server;
}

void horovod_server_free(struct horovod_server *server)
{
    if (server == NULL)
        return;
    only = NULL;
    evhttp_free(server->http);
    event_free(server->rest);
    horovod_store_free(server->store);
    free(server);
}

void horovod_server_begin(struct horovod_server *server, const char *address)
{
    struct in_addr wanted;

    if (inet_pton(AF_INET, address, &wanted) == 1 && is_here(wanted))
        server->address = wanted;
    evconnlistener_enable(server->listener);
}

static int listen_anywhere(int *port, struct error *err)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t          size = sizeof address;
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
        err_set(err, "cannot listen for Horovod's ranks: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}

/* Has a device of this machine the address? */
static bool is_here(struct in_addr address)
{
    const struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = address };
    int                      fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool                     is = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

/* The client takes 200 and 404 for answers, and tries again after all others. */
static void request_cb(struct evhttp_request *request, void *arg)
{
    struct horovod_server *server = arg;
    struct evbuffer       *out;
    int                    status;

    if (!is_at_address(server, request)) {
        evhttp_send_reply(request, 403, "Forbidden", NULL);
        return;
    }
    out = evbuffer_new();
    if (out == NULL)
        xalloc_die();
    status = answer(server->store, request, out);
    evhttp_send_reply(request, status, status == 200 ? "OK" : "No", out);
    evbuffer_free(out);
}

static bool is_at_address(const struct horovod_server *server, struct evhttp_request *request)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    struct sockaddr_in        own = { 0 };
    socklen_t                 size = sizeof own;
    int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));

    return server->address.s_addr == INADDR_ANY ||
           (getsockname(fd, (struct sockaddr *)&own, &size) == 0 &&
            own.sin_addr.s_addr == server->address.s_addr);
}

/* Returns the status, and puts a value into out. */
static int answer(struct horovod_store *store, struct evhttp_request *request,
                  struct evbuffer *out)
{
    struct evbuffer *in = evhttp_request_get_input_buffer(request);
    const char      *path = evhttp_request_get_uri(request);
    const void      *value = "";
    size_t           size = evbuffer_get_length(in);
    int              status;

    if (evhttp_request_get_command(request) == EVHTTP_REQ_DELETE)
        return horovod_store_delete(store, path);
    if (evhttp_request_get_command(request) == EVHTTP_REQ_PUT) {
        if (size > 0)
            value = evbuffer_pullup(in, -1);
        return horovod_store_put(store, path, value, size);
    }
    status = horovod_store_get(store, path, &value, &size);
    if (status == 200 && evbuffer_add(out, value, size) < 0)
        xalloc_die();
    return status;
}

/* A listener that cannot accept would be readable again at once. */
static void busy_cb(struct evconnlistener *listener, void *arg)
{
    const struct timeval rest = clock_interval(REST_S);

    (void)arg;
    evconnlistener_disable(listener);
    xevent_add(only->rest, &rest);
}

static void rested_cb(evutil_socket_t fd, short what, void *arg)
{
    struct horovod_server *server = arg;

    (void)fd, (void)what;
    evconnlistener_enable(server->listener);
}
