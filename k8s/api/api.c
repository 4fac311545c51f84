/* api.c - see api.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "api/api.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <curl/curl.h>

#include "api/account.h"
#include "api/proxy.h"
#include "buffer.h"
#include "clock.h"
#include "log.h"
#include "xalloc.h"

#define FIRST_PAUSE_S 0.2
#define LONGEST_PAUSE_S 5.0
#define CONNECT_S     10L
#define SAYS_BYTES    1024
/* Keepalive detects a server that vanished silently after KEEP_IDLE_S + 9 * KEEP_S. */
#define KEEP_IDLE_S   30L
#define KEEP_S        5L
#define AGREE_S       3 /* a Date has whole seconds, and arrives late */
#define DATE_BYTES    64

struct api {
    struct proxy   proxy;
    char          *socket; /* NULL: use the account */
    struct account account;
    CURLM         *multi;
    int            break_fd; /* -1: none */
    bool           has_delivered;
    int64_t        ahead_s; /* how far the server's clock is ahead of ours */
};

/* One request or stream; the private pointer of its easy handle. */
struct call {
    CURL         *easy;
    struct buffer body; /* of the answer */
    bool          is_done, is_too_large;
    CURLcode      result;
    struct api_stream *stream; /* NULL: a request */
};

struct api_stream {
    struct api                  *api;
    struct call                  call;
    const struct api_stream_ops *ops;
    void                        *arg;
};

static struct api *open_multi(void);
static int    ask(struct api *api, const char *method, const char *path, const json_t *body,
                  int64_t patience_s, long timeout_s, json_t **reply, struct error *err);
static int    request_once(struct api *api, const char *method, const char *path, const char *body,
                           long timeout_s, struct call *call, double *pause_s);
static void   call_start(struct api *api, struct call *call, const char *path);
static void   take_way(struct api *api, CURL *easy);
static bool   is_stranger(const struct call *call);
static void   call_end(struct api *api, struct call *call);
static size_t take_header(char *bytes, size_t one, size_t size, void *arg);
static size_t take_bytes(char *bytes, size_t one, size_t size, void *arg);
static void   take_lines(struct api_stream *stream);
static void   step(struct api *api, double timeout_s, int fd);
static void   pause_for(struct api *api, double seconds);
static bool   is_broken(const struct api *api);
static int    refuse(const char *method, const char *path, int status, const json_t *reply,
                     struct error *err);

struct api *api_open(const char *context, struct error *err)
{
    struct api *api = open_multi();

    if (proxy_start(&api->proxy, context, err) < 0) {
        api_close(api);
        return NULL;
    }
    api->socket = xstrdup(api->proxy.socket);
    return api;
}

struct api *api_open_account(const char *directory)
{
    struct api *api = open_multi();

    account_open(&api->account, directory);
    return api;
}

struct api *api_open_socket(const char *path)
{
    struct api *api = open_multi();

    api->socket = xstrdup(path);
    return api;
}

void api_close(struct api *api)
{
    if (api == NULL)
        return;
    curl_multi_cleanup(api->multi);
    proxy_stop(&api->proxy);
    account_close(&api->account);
    free(api->socket);
    free(api);
}

int api_request(struct api *api, const char *method, const char *path, const json_t *body,
                json_t **reply, struct error *err)
{
    return ask(api, method, path, body, API_PATIENCE_S, API_REQUEST_S, reply, err);
}

int api_try(struct api *api, const char *method, const char *path, const json_t *body,
            struct error *err)
{
    return ask(api, method, path, body, 0, API_TRY_S, NULL, err);
}

static int ask(struct api *api, const char *method, const char *path, const json_t *body,
               int64_t patience_s, long timeout_s, json_t **reply, struct error *err)
{
    char       *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    int64_t     until = clock_now_ns() + patience_s * NS_PER_S;
    double      pause_s = FIRST_PAUSE_S, asked_s;
    struct call call;
    json_t     *document;
    int         status;

    for (;;) {
        asked_s = 0;
        status = request_once(api, method, path, text, timeout_s, &call, &asked_s);
        if ((status != 0 && status != 429 && status < 500) || is_stranger(&call) ||
            is_broken(api))
            break;
        if (asked_s < pause_s)
            asked_s = pause_s;
        if (clock_now_ns() + (int64_t)(asked_s * NS_PER_S) > until)
            break;
        log_info("%s %s: %s; trying again", method, path,
                 status == 0 ? curl_easy_strerror(call.result)
                             : "the server is busy or unreachable");
        buffer_clear(&call.body);
        pause_for(api, asked_s);
        pause_s = pause_s * 2 < LONGEST_PAUSE_S ? pause_s * 2 : LONGEST_PAUSE_S;
    }
    if (text != NULL)
        explicit_bzero(text, strlen(text)); /* a Secret may have been in it */
    free(text);
    if (status == 0) {
        err_set(err, "%s %s: %s", method, path,
                call.is_too_large ? "the answer is too large"
                : is_broken(api)  ? "interrupted"
                                  : curl_easy_strerror(call.result));
        buffer_clear(&call.body);
        return -1;
    }
    document = json_loadb(call.body.size > 0 ? call.body.bytes : "", call.body.size, 0, NULL);
    buffer_clear(&call.body);
    if (status >= 400 && status != 404 && status != 409) {
        refuse(method, path, status, document, err);
        status = -1;
    } else if (status < 300 && document == NULL) {
        err_set(err, "%s %s: the answer is not JSON", method, path);
        status = -1;
    }
    if (reply != NULL && status > 0)
        *reply = document != NULL ? document : json_object();
    else
        json_decref(document);
    return status;
}

int api_text(struct api *api, const char *path, char **text, size_t *size)
{
    struct call call;
    double      harmless;
    int         status = request_once(api, "GET", path, NULL, API_TEXT_S, &call, &harmless);

    *size = call.body.size;
    buffer_add(&call.body, "", 1);
    *text = call.body.bytes;
    return status;
}

int64_t api_now(const struct api *api)
{
    return time(NULL) + api->ahead_s;
}

const char *api_list_continue(const json_t *list)
{
    const char *next =
        json_string_value(json_object_get(json_object_get(list, "metadata"), "continue"));

    return next != NULL ? next : "";
}

struct api_stream *api_stream_open(struct api *api, const char *path,
                                   const struct api_stream_ops *ops, void *arg)
{
    struct api_stream *stream = xcalloc(1, sizeof *stream);

    *stream = (struct api_stream){ .api = api, .ops = ops, .arg = arg };
    stream->call.stream = stream;
    call_start(api, &stream->call, path);
    curl_multi_add_handle(api->multi, stream->call.easy);
    return stream;
}

void api_stream_close(struct api_stream *stream)
{
    if (stream == NULL)
        return;
    call_end(stream->api, &stream->call);
    buffer_clear(&stream->call.body);
    free(stream);
}

void api_break_on(struct api *api, int fd)
{
    api->break_fd = fd;
}

void api_wait(struct api *api, double timeout_s, int fd)
{
    api->has_delivered = false;
    step(api, 0, -1);
    if (!api->has_delivered)
        step(api, timeout_s, fd);
}

static struct api *open_multi(void)
{
    struct api *api = xcalloc(1, sizeof *api);

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || (api->multi = curl_multi_init()) == NULL)
        xalloc_die();
    api->break_fd = -1;
    return api;
}

/* Returns the status, or 0. *pause_s: the server's Retry-After, or 0. */
static int request_once(struct api *api, const char *method, const char *path, const char *body,
                        long timeout_s, struct call *call, double *pause_s)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json");
    curl_off_t         retry_after = 0;
    long               status = 0;

    *call = (struct call){ 0 };
    call_start(api, call, path);
    curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(call->easy, CURLOPT_TIMEOUT, timeout_s);
    if (body != NULL) {
        headers = curl_slist_append(headers, strcmp(method, "PATCH") == 0
                                                 ? "Content-Type: application/merge-patch+json"
                                                 : "Content-Type: application/json");
        headers = curl_slist_append(headers, "Expect:");
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
    }
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, headers);
    curl_multi_add_handle(api->multi, call->easy);
    while (!call->is_done && !is_broken(api))
        step(api, 1, api->break_fd);
    if (call->is_done && call->result == CURLE_OK) {
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after);
    }
    *pause_s = retry_after > 0 ? (double)retry_after : 0;
    call_end(api, call);
    curl_slist_free_all(headers);
    return (int)status;
}

static void call_start(struct api *api, struct call *call, const char *path)
{
    /* The proxy accepts no other host name. */
    const char *server = api->socket != NULL ? "http://localhost" : api->account.url;
    char       *url = xasprintf("%s%s", server, path);

    call->easy = curl_easy_init();
    if (call->easy == NULL)
        xalloc_die();
    curl_easy_setopt(call->easy, CURLOPT_URL, url);
    take_way(api, call->easy);
    curl_easy_setopt(call->easy, CURLOPT_PROXY, ""); /* ignore http_proxy in the environment */
    curl_easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    curl_easy_setopt(call->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(call->easy, CURLOPT_HEADERDATA, api);
    curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(call->easy, CURLOPT_PRIVATE, call);
    free(url);
}

/* HTTP/1.1, as for the proxy: libcurl never reuses a connection with an unanswered request. */
static void take_way(struct api *api, CURL *easy)
{
    if (api->socket != NULL) {
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, api->socket);
        return;
    }
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_CAINFO, api->account.authority);
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
    curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER,
                     account_token(&api->account, clock_now_ns()));
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEP_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEP_S);
}

/* The server that answers is not the cluster's; retrying does not help. */
static bool is_stranger(const struct call *call)
{
    return call->is_done && (call->result == CURLE_PEER_FAILED_VERIFICATION ||
                             call->result == CURLE_SSL_CACERT_BADFILE);
}

static void call_end(struct api *api, struct call *call)
{
    curl_multi_remove_handle(api->multi, call->easy);
    curl_easy_cleanup(call->easy);
    call->easy = NULL;
}

static size_t take_header(char *bytes, size_t one, size_t size, void *arg)
{
    static const char name[] = "date:";
    struct api       *api = arg;
    char              text[DATE_BYTES];
    time_t            date;
    int64_t           ahead_s;

    (void)one;
    if (size < sizeof name || size > sizeof text || strncasecmp(bytes, name, sizeof name - 1) != 0)
        return size;
    snprintf(text, sizeof text, "%.*s", (int)(size - sizeof name + 1), bytes + sizeof name - 1);
    text[strcspn(text, "\r\n")] = '\0';
    date = curl_getdate(text, NULL);
    ahead_s = (int64_t)date - time(NULL);
    if (date != -1)
        api->ahead_s = ahead_s > -AGREE_S && ahead_s < AGREE_S ? 0 : ahead_s;
    return size;
}

static size_t take_bytes(char *bytes, size_t one, size_t size, void *arg)
{
    struct call *call = arg;

    (void)one;
    if (call->stream == NULL && call->body.size + size > API_REPLY_MAX) {
        call->is_too_large = true;
        return 0;
    }
    buffer_add(&call->body, bytes, size);
    if (call->stream != NULL)
        take_lines(call->stream);
    return size;
}

/* Delivers the complete lines. The text of an error waits in the buffer for its end. */
static void take_lines(struct api_stream *stream)
{
    struct buffer *body = &stream->call.body;
    long           status = 0;
    char          *newline;
    size_t         at = 0, length;

    curl_easy_getinfo(stream->call.easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        if (body->size > SAYS_BYTES)
            body->size = SAYS_BYTES;
        return;
    }
    stream->api->has_delivered = true;
    while ((newline = memchr(body->bytes + at, '\n', body->size - at)) != NULL) {
        length = (size_t)(newline - body->bytes) - at;
        stream->ops->line(stream->arg, body->bytes + at, length);
        at += length + 1;
    }
    if (at == 0 && body->size > API_LINE_MAX) {
        stream->ops->line(stream->arg, body->bytes, body->size);
        at = body->size;
    }
    memmove(body->bytes, body->bytes + at, body->size - at);
    body->size -= at;
}

/* One round of libcurl's multi interface. */
static void step(struct api *api, double timeout_s, int fd)
{
    struct curl_waitfd extra = { .fd = fd, .events = CURL_WAIT_POLLIN };
    struct api_stream *stream;
    struct call       *call;
    CURLMsg           *message;
    int                running, left;
    long               status = 0;

    if (timeout_s > 0)
        curl_multi_poll(api->multi, &extra, fd >= 0, (int)(timeout_s * 1000), NULL);
    curl_multi_perform(api->multi, &running);
    proxy_drain(&api->proxy);
    while ((message = curl_multi_info_read(api->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        call->result = message->data.result;
        call->is_done = true;
        stream = call->stream;
        if (stream == NULL)
            continue;
        api->has_delivered = true;
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        if (status == 200 && call->body.size > 0)
            stream->ops->line(stream->arg, call->body.bytes, call->body.size);
        buffer_add(&call->body, "", 1);
        stream->ops->end(stream->arg, (int)status,
                         status == 200              ? ""
                         : call->result != CURLE_OK ? curl_easy_strerror(call->result)
                                                    : call->body.bytes);
    }
}

static void pause_for(struct api *api, double seconds)
{
    int64_t until = clock_now_ns() + (int64_t)(seconds * NS_PER_S), left;

    while ((left = until - clock_now_ns()) > 0 && !is_broken(api))
        step(api, (double)left / NS_PER_S + 0.001, api->break_fd);
}

static bool is_broken(const struct api *api)
{
    struct pollfd ready = { .fd = api->break_fd, .events = POLLIN };

    return poll(&ready, 1, 0) == 1; /* never, if it is -1 */
}

/* The server's Status document has a message for the user. */
static int refuse(const char *method, const char *path, int status, const json_t *reply,
                  struct error *err)
{
    const char *message = json_string_value(json_object_get(reply, "message"));

    if (message != NULL)
        return err_set(err, "the cluster refuses (%d): %s", status, message);
    return err_set(err, "%s %s: the cluster refuses with status %d", method, path, status);
}
