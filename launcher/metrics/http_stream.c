/* http_stream.c - see http_stream.h
 *
 * Once the client is gone, evhttp takes its connection from the request, which stays ours.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "metrics/http_stream.h"

#include <stdlib.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "clock.h"
#include "metrics/http_server.h"
#include "xalloc.h"

struct http_stream {
    struct evhttp_request *request;
};

static struct bufferevent *bufferevent_of(const struct http_stream *stream);

struct http_stream *http_stream_new(struct evhttp_request *request, const char *type)
{
    const struct timeval limit = clock_interval(HTTP_IDLE_S);
    struct http_stream  *stream = xcalloc(1, sizeof *stream);

    stream->request = request;
    http_server_headers(request, type);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Connection", "close");
    evhttp_send_reply_start(request, HTTP_OK, "OK");
    if (http_stream_is_open(stream))
        bufferevent_set_timeouts(bufferevent_of(stream), NULL, &limit);
    return stream;
}

void http_stream_free(struct http_stream *stream)
{
    if (stream == NULL)
        return;
    evhttp_send_reply_end(stream->request);
    free(stream);
}

bool http_stream_is_open(const struct http_stream *stream)
{
    return evhttp_request_get_connection(stream->request) != NULL;
}

size_t http_stream_waiting(const struct http_stream *stream)
{
    return http_stream_is_open(stream)
               ? evbuffer_get_length(bufferevent_get_output(bufferevent_of(stream)))
               : 0;
}

void http_stream_send(struct http_stream *stream, const void *bytes, size_t size)
{
    struct evbuffer *chunk;

    if (!http_stream_is_open(stream))
        return;
    chunk = evbuffer_new();
    if (chunk == NULL || evbuffer_add(chunk, bytes, size) < 0)
        xalloc_die();
    evhttp_send_reply_chunk(stream->request, chunk);
    evbuffer_free(chunk);
}

static struct bufferevent *bufferevent_of(const struct http_stream *stream)
{
    return evhttp_connection_get_bufferevent(evhttp_request_get_connection(stream->request));
}
