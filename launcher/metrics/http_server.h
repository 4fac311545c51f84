/* http_server.h - a small HTTP server for what muster itself says, by libevent's evhttp
 *
 * It has a table of paths, each with a function that answers GET and HEAD there; other paths are
 * 404, other methods 405. evhttp reads the requests. A hostile client can neither hold up the run
 * nor make it grow: a request has at most HTTP_HEAD_MAX and HTTP_BODY_MAX bytes, a connection that
 * does nothing for HTTP_IDLE_S ends, and if there are more than HTTP_MOST the oldest ends, so that
 * the newest is always answered.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HTTP_SERVER_H
#define MUSTER_HTTP_SERVER_H

#include <stddef.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#define HTTP_MOST     64
#define HTTP_HEAD_MAX 8192
#define HTTP_BODY_MAX 4096
#define HTTP_IDLE_S   10

/* The table ends with a path of NULL. An answer is given at once, by http_server_reply(), or later
 * by evhttp's own functions: the request is theirs until then. */
struct http_path {
    const char *path;
    void (*answer)(struct evhttp_request *request, void *arg);
};

struct http_server;

/* Takes over fd, which listens. path and arg are borrowed. A process has one server at a time. */
struct http_server *http_server_new(struct event_base *base, int fd, const struct http_path *path,
                                    void *arg);
void http_server_free(struct http_server *server); /* NULL is fine */

/* Answers 200 with these bytes, which stay borrowed until free_cb(arg). */
void http_server_reply(struct evhttp_request *request, const char *type, const char *bytes,
                       size_t size, evbuffer_ref_cleanup_cb free_cb, void *arg);
/* Answers with an error, and words for people. */
void http_server_refuse(struct evhttp_request *request, int code, const char *words);
/* Adds the headers that each answer has. */
void http_server_headers(struct evhttp_request *request, const char *type);
/* Returns a header of the request; NULL: it has none of that name. */
const char *http_server_header(struct evhttp_request *request, const char *name);

#endif
