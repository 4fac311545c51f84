/* http_stream.h - an answer of the HTTP server that goes on, as server-sent events do
 *
 * Such a connection may be idle for longer than others, but ends if its client takes nothing of
 * what waits for HTTP_IDLE_S. The caller sends nothing while much waits.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HTTP_STREAM_H
#define MUSTER_HTTP_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/http.h>

struct http_stream;

/* Begins to answer a GET. Free it before the server. */
struct http_stream *http_stream_new(struct evhttp_request *request, const char *type);
/* Ends the answer. NULL is fine. */
void http_stream_free(struct http_stream *stream);

/* Is the client there, as far as we know? */
bool http_stream_is_open(const struct http_stream *stream);
/* Returns the bytes that wait until the client takes more. */
size_t http_stream_waiting(const struct http_stream *stream);
/* Sends a copy of these bytes. */
void http_stream_send(struct http_stream *stream, const void *bytes, size_t size);

#endif
