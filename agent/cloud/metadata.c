/* metadata.c - see metadata.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cloud/metadata.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>

#include "clock.h"
#include "xalloc.h"
#include "xevent.h"

struct metadata {
    struct evhttp_connection *connection;
    struct event             *over; /* time is up or, if activated, the request is over */
    metadata_answer_f        *answer;
    void                     *arg;
    bool                      was_connected;
    bool                      has_reply;
    struct metadata_reply     reply;
    struct error              err; /* why there is no reply */
};

/* State of one metadata_ask() call. */
struct waiting {
    struct metadata_reply *reply;
    struct error          *err;
    int                    rc;
};

static void connection_begin(struct metadata *metadata, struct event_base *base,
                             const struct cloud *cloud);
static void request_send(struct metadata *metadata, const struct cloud *cloud,
                         enum metadata_asked asked, const char *first);
static void add_header(struct evkeyvalq *headers, struct cloud_header header);
static int  head_cb(struct evhttp_request *request, void *arg);
static void close_cb(struct evhttp_connection *connection, void *arg);
static void done_cb(struct evhttp_request *request, void *arg);
static void over_cb(evutil_socket_t fd, short what, void *arg);
static void hang_up(struct metadata *metadata);
static void waited_cb(const struct metadata_reply *reply, const struct error *err, void *arg);

struct metadata *metadata_begin(struct event_base *base, const struct cloud *cloud,
                                enum metadata_asked asked, const char *first, int64_t late_ns,
                                metadata_answer_f *answer, void *arg)
{
    struct metadata *metadata = xcalloc(1, sizeof *metadata);
    int64_t          left_ns = late_ns - clock_now_ns();
    struct timeval   limit = clock_interval(left_ns > 0 ? (double)left_ns / NS_PER_S : 0);

    metadata->answer = answer;
    metadata->arg = arg;
    err_set(&metadata->err, "its answer took too long");
    metadata->over = xevent_new(base, -1, over_cb, metadata);
    xevent_add(metadata->over, &limit);
    connection_begin(metadata, base, cloud);
    request_send(metadata, cloud, asked, first);
    return metadata;
}

void metadata_free(struct metadata *metadata)
{
    if (metadata == NULL)
        return;
    hang_up(metadata);
    event_free(metadata->over);
    free(metadata);
}

/* The bufferevent's limit is for bytes that evhttp reads while it expects none. */
static void connection_begin(struct metadata *metadata, struct event_base *base,
                             const struct cloud *cloud)
{
    metadata->connection = evhttp_connection_base_new(base, NULL, cloud->address,
                                                      (uint16_t)cloud->port);
    if (metadata->connection == NULL)
        xalloc_die();
    evhttp_connection_set_family(metadata->connection, AF_INET);
    evhttp_connection_set_max_headers_size(metadata->connection, METADATA_HEAD);
    evhttp_connection_set_max_body_size(metadata->connection, METADATA_BODY);
    evhttp_connection_set_closecb(metadata->connection, close_cb, metadata);
    bufferevent_setwatermark(evhttp_connection_get_bufferevent(metadata->connection), EV_READ, 0,
                             METADATA_HEAD + METADATA_BODY);
}

/* If there is no route to the address, evhttp_make_request() calls
 * done_cb() before it returns. */
static void request_send(struct metadata *metadata, const struct cloud *cloud,
                         enum metadata_asked asked, const char *first)
{
    struct evhttp_request *request = evhttp_request_new(done_cb, metadata);
    const char            *paths[] = { cloud->first_path, cloud->path, cloud->class_path };
    bool                   is_put = asked == METADATA_FIRST && cloud->first_is_put;
    struct evkeyvalq      *headers;
    evutil_socket_t        fd;

    if (request == NULL)
        xalloc_die();
    evhttp_request_set_header_cb(request, head_cb);
    headers = evhttp_request_get_output_headers(request);
    add_header(headers, (struct cloud_header){ "Host", cloud->host });
    add_header(headers, (struct cloud_header){ "Connection", "close" });
    add_header(headers, cloud->header);
    if (asked == METADATA_FIRST)
        add_header(headers, cloud->first_header);
    else if (first[0] != '\0')
        add_header(headers, (struct cloud_header){ cloud->token_header, first });
    if (evhttp_make_request(metadata->connection, request,
                            is_put ? EVHTTP_REQ_PUT : EVHTTP_REQ_GET, paths[asked]) < 0)
        xalloc_die();
    /* libevent does not set close-on-exec on its sockets, and accepts none of ours */
    fd = bufferevent_getfd(evhttp_connection_get_bufferevent(metadata->connection));
    if (fd >= 0)
        evutil_make_socket_closeonexec(fd);
}

static void add_header(struct evkeyvalq *headers, struct cloud_header header)
{
    if (header.name != NULL)
        evhttp_add_header(headers, header.name, header.value);
}

/* --- the answer ------------------------------------------------------------- */

/* evhttp would keep the headers of any number of 100 Continue responses, which we never ask
 * for. And with "Connection: keep-alive" it would take a body that ends with the connection for
 * an empty one, which would mean that this machine is safe. */
static int head_cb(struct evhttp_request *request, void *arg)
{
    (void)arg;
    evhttp_remove_header(evhttp_request_get_input_headers(request), "Connection");
    return evhttp_request_get_response_code(request) == 100 ? -1 : 0;
}

/* Called for connections that were made, before done_cb(). */
static void close_cb(struct evhttp_connection *connection, void *arg)
{
    struct metadata *metadata = arg;

    (void)connection;
    metadata->was_connected = true;
}

/* request: if its status is 0, the connection was refused; NULL: any other failure, and errno
 * is about the connection if there was none. evhttp still uses its connection when this
 * returns. So over_cb(), in which it may be freed, does the rest. */
static void done_cb(struct evhttp_request *request, void *arg)
{
    struct metadata       *metadata = arg;
    struct metadata_reply *reply = &metadata->reply;
    int                    error = request != NULL ? ECONNREFUSED : errno;

    reply->status = request != NULL ? evhttp_request_get_response_code(request) : 0;
    metadata->has_reply = reply->status >= 100 && reply->status <= 999;
    if (metadata->has_reply)
        reply->size = (size_t)evbuffer_copyout(evhttp_request_get_input_buffer(request),
                                               reply->body, METADATA_BODY);
    else
        err_set(&metadata->err, "%s",
                metadata->was_connected ? "its answer is not valid HTTP" : strerror(error));
    event_active(metadata->over, EV_TIMEOUT, 0);
}

static void over_cb(evutil_socket_t fd, short what, void *arg)
{
    struct metadata *metadata = arg;

    (void)fd, (void)what;
    hang_up(metadata);
    metadata->answer(metadata->has_reply ? &metadata->reply : NULL, &metadata->err,
                     metadata->arg);
}

/* Also frees the request, if there is no answer yet. */
static void hang_up(struct metadata *metadata)
{
    if (metadata->connection != NULL)
        evhttp_connection_free(metadata->connection);
    metadata->connection = NULL;
}

/* --- waiting ---------------------------------------------------------------- */

int metadata_ask(const struct cloud *cloud, enum metadata_asked asked, const char *first,
                 int64_t late_ns, struct metadata_reply *reply, struct error *err)
{
    struct waiting     waiting = { reply, err, -1 };
    struct event_base *base = event_base_new();
    struct metadata   *metadata;

    if (base == NULL)
        xalloc_die();
    metadata = metadata_begin(base, cloud, asked, first, late_ns, waited_cb, &waiting);
    event_base_dispatch(base);
    metadata_free(metadata);
    event_base_free(base);
    return waiting.rc;
}

static void waited_cb(const struct metadata_reply *reply, const struct error *err, void *arg)
{
    struct waiting *waiting = arg;

    waiting->rc = reply != NULL ? 0 : -1;
    if (reply != NULL)
        *waiting->reply = *reply;
    else
        *waiting->err = *err;
}
