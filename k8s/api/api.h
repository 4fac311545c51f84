/* api.h - requests to the Kubernetes API, and streams from it
 *
 * By libcurl's multi interface, in one thread: while a request is waited for, streams deliver.
 * Nothing waits without a deadline.
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
#define API_PATIENCE_S  90       /* with its repetitions, while the server is away */
#define API_REPLY_MAX   (256 << 20)
#define API_LINE_MAX    (4 << 20) /* of a stream; more is cut off there */

struct api;

/* NULL: error. context: of the kubeconfig, or NULL. */
struct api *api_open(const char *context, struct error *err);

/* By the service account of the Pod that we are in, which account_is_there() has found. */
struct api *api_open_account(const char *directory);

/* At this socket there is an API server that asks for no login; path is borrowed. */
struct api *api_open_socket(const char *path);

void api_close(struct api *api);

/* Do a request and wait for the answer. Refused connections, 429 and 5xx are repeated, as the
 * server's Retry-After says or later each time, until API_PATIENCE_S is over.
 * Returns the status of the answer, 404 and 409 included, with the document in *reply (a new
 * reference, never NULL) if reply is not NULL. -1: no answer, or one of another error; err has what
 * the server says. */
int api_request(struct api *api, const char *method, const char *path, const json_t *body,
                json_t **reply, struct error *err);

/* The same, tried once and for API_TRY_S: for what nobody waits for. */
#define API_TRY_S 10
int api_try(struct api *api, const char *method, const char *path, const json_t *body,
            struct error *err);

/* A GET of plain text, tried once and for API_TEXT_S: the status, 0 if there was no answer. *text
 * has its *size bytes; caller frees. */
#define API_TEXT_S 10
int api_text(struct api *api, const char *path, char **text, size_t *size);

/* The time by the server's clock as its last answer had it, in seconds since 1970: objects have
 * times of that clock. Ours, if the two agree. */
int64_t api_now(const struct api *api);

/* Of a list: where the next page begins, for the parameter continue; "" after the last one. */
const char *api_list_continue(const json_t *list);

/* A GET whose answer comes line by line. line() gets each without its newline; end() is the last
 * call: status is 0 if there was no answer; says: the first bytes of an error. Neither may close
 * the stream or the api. */
struct api_stream;
struct api_stream_ops {
    void (*line)(void *arg, const char *line, size_t size);
    void (*end)(void *arg, int status, const char *says);
};
struct api_stream *api_stream_open(struct api *api, const char *path,
                                   const struct api_stream_ops *ops, void *arg);
void               api_stream_close(struct api_stream *stream); /* NULL is fine */

/* While fd is readable, requests end at once with -1: Ctrl-C does not wait for a server that is
 * away. */
void api_break_on(struct api *api, int fd);

/* Let streams deliver. Returns after timeout_s, after something was delivered, or when fd (or -1)
 * is readable. */
void api_wait(struct api *api, double timeout_s, int fd);

#endif
