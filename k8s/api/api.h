/* api.h - requests to the Kubernetes API, and streams from it
 *
 * Uses libcurl's multi interface in one thread: streams deliver their lines while the caller
 * waits for a request. Every wait has a deadline.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_API_H
#define MUSTER_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "err.h"

#define API_REQUEST_S   30       /* one request */
#define API_PATIENCE_S  90       /* a request and its retries, while the server is away */
#define API_REPLY_MAX   (256 << 20)
#define API_LINE_MAX    (4 << 20) /* of a stream; a longer line is split there */

struct api;

/* Opens the API through a kubectl proxy. NULL: error. context: of the kubeconfig, or NULL. */
struct api *api_open(const char *context, struct error *err);

/* Opens the API with the service account of our own Pod, which account_is_there() has found. */
struct api *api_open_account(const char *directory);

/* Opens the API of a server that listens on this socket, without a login. path is borrowed. */
struct api *api_open_socket(const char *path);

void api_close(struct api *api);

/* Sends a request and waits for the answer. Retries refused connections, 429 and 5xx after the
 * server's Retry-After, or with growing pauses, for API_PATIENCE_S. Returns the status of the
 * answer, 404 and 409 included, with the document in *reply (a new reference, never NULL) if
 * reply is not NULL. -1: no answer, or another error status; err has the server's message. */
int api_request(struct api *api, const char *method, const char *path, const json_t *body,
                json_t **reply, struct error *err);

/* Like api_request(), but tries once, for API_TRY_S: for requests that nothing depends on. */
#define API_TRY_S 10
int api_try(struct api *api, const char *method, const char *path, const json_t *body,
            struct error *err);

/* Sends a GET for plain text once and waits API_TEXT_S. Returns the status, or 0 if there was
 * no answer. *text has *size bytes and a NUL; caller frees. */
#define API_TEXT_S 10
int api_text(struct api *api, const char *path, char **text, size_t *size);

/* Returns the time by the server's clock, in seconds since 1970; the times in objects are of
 * that clock. It follows from the Date of the server's last answer. If the two clocks agree, it
 * is our own time. */
int64_t api_now(const struct api *api);

/* Returns the parameter continue for the next page of a list; "" after the last page. */
const char *api_list_continue(const json_t *list);

/* A GET whose answer arrives line by line. line() gets each line without its newline; end() is
 * the last call. status: 0 if there was no answer; says: the first bytes of an error. Neither
 * callback may close the stream or the api. */
struct api_stream;
struct api_stream_ops {
    void (*line)(void *arg, const char *line, size_t size);
    void (*end)(void *arg, int status, const char *says);
};
struct api_stream *api_stream_open(struct api *api, const char *path,
                                   const struct api_stream_ops *ops, void *arg);
void               api_stream_close(struct api_stream *stream); /* NULL is fine */

/* While fd is readable, requests return -1 at once, so that Ctrl-C does not wait for a server
 * that does not answer. */
void api_break_on(struct api *api, int fd);

/* Lets streams deliver. Returns after timeout_s, after a delivery, or when fd is readable. fd
 * -1: none. */
void api_wait(struct api *api, double timeout_s, int fd);

#endif
