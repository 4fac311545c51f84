/* ras_client.c - see ras_client.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ras/ras_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "clock.h"
#include "xevent.h"

/* All processes of a node listen on the port, and the kernel chooses one for each connection. One
 * that is stopped does not answer: then another connection may reach another process. */
#define GREET_S    2.0
#define LINE_MAX   1024   /* bytes of the answer to a line */
#define READ_BYTES 262144 /* that one event reads */

/* What is said in turn, and what the answer to it begins with. */
static const struct {
    const char *says, *answer;
} steps[] = {
    { "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL " },
    { "TIMEOUT 3\n", "OK" },
    { "SET FORMAT json\n", "" }, /* before 2.28.7 an error: it stays with text */
    { "VERBOSE STATUS\n", NULL },
};
#define STATUS (sizeof steps / sizeof *steps - 1)

struct ras_client {
    struct event_base  *base;
    int                 port, world_size;
    ras_answer_f       *answer;
    void               *arg;
    struct bufferevent *stream; /* NULL: the next connection is about to begin */
    struct event       *begin, *greet, *late;
    size_t              step;
};

static void begin_cb(evutil_socket_t fd, short what, void *arg);
static void greet_cb(evutil_socket_t fd, short what, void *arg);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void event_cb(struct bufferevent *stream, short what, void *arg);
static void read_cb(struct bufferevent *stream, void *arg);
static void take_line(struct ras_client *client);
static void say(struct ras_client *client);
static void ended(struct ras_client *client, short what);
static void read_reply(struct ras_client *client);
static void finish(struct ras_client *client, const struct ras_reply *reply,
                   const struct error *err);
static void hang_up(struct ras_client *client);

struct ras_client *ras_client_begin(struct event_base *base, int port, int world_size,
                                    ras_answer_f *answer, void *arg)
{
    const struct timeval limit = clock_interval(RAS_CLIENT_S), now = { 0 };
    struct ras_client   *client = xcalloc(1, sizeof *client);

    client->base = base;
    client->port = port;
    client->world_size = world_size;
    client->answer = answer;
    client->arg = arg;
    client->begin = xevent_new(base, -1, begin_cb, client);
    client->greet = xevent_new(base, -1, greet_cb, client);
    client->late = xevent_new(base, -1, late_cb, client);
    xevent_add(client->begin, &now);
    xevent_add(client->late, &limit);
    return client;
}

void ras_client_free(struct ras_client *client)
{
    if (client == NULL)
        return;
    hang_up(client);
    event_free(client->begin);
    event_free(client->greet);
    event_free(client->late);
    free(client);
}

static void begin_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval limit = clock_interval(GREET_S);
    struct ras_client   *client = arg;
    struct sockaddr_in   at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)client->port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct error         err;

    (void)fd, (void)what;
    client->step = 0;
    client->stream = bufferevent_socket_new(client->base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (client->stream == NULL)
        xalloc_die();
    bufferevent_setcb(client->stream, read_cb, NULL, event_cb, client);
    bufferevent_set_max_single_read(client->stream, READ_BYTES);
    bufferevent_enable(client->stream, EV_READ | EV_WRITE);
    xevent_add(client->greet, &limit);
    if (bufferevent_socket_connect(client->stream, (struct sockaddr *)&at, sizeof at) == 0)
        return;
    err_set(&err, "cannot connect: %s", strerror(errno));
    finish(client, NULL, &err);
}

/* The connection is made again until late_cb() says that it was the last time. */
static void greet_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval now = { 0 };
    struct ras_client   *client = arg;

    (void)fd, (void)what;
    hang_up(client);
    xevent_add(client->begin, &now);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct ras_client *client = arg;
    struct error       err;

    (void)fd, (void)what;
    err_set(&err, "%s within %g s",
            client->step < STATUS ? "no answer" : "not all of its answer has come", RAS_CLIENT_S);
    finish(client, NULL, &err);
}

static void event_cb(struct bufferevent *stream, short what, void *arg)
{
    (void)stream;
    if ((what & BEV_EVENT_CONNECTED) != 0)
        say(arg);
    else
        ended(arg, what);
}

static void read_cb(struct bufferevent *stream, void *arg)
{
    struct ras_client *client = arg;
    struct error       err;

    if (client->step < STATUS) {
        take_line(client);
    } else if (evbuffer_get_length(bufferevent_get_input(stream)) > RAS_REPLY_MAX) {
        err_set(&err, "its answer is longer than %u MiB", RAS_REPLY_MAX >> 20);
        finish(client, NULL, &err);
    }
}

/* It answers each line before it gets the next one. */
static void take_line(struct ras_client *client)
{
    struct evbuffer *in = bufferevent_get_input(client->stream);
    const char      *expected = steps[client->step].answer;
    char            *line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF);
    struct error     err = { "" };

    if (line == NULL && evbuffer_get_length(in) <= LINE_MAX)
        return;
    if (line == NULL || strncmp(line, expected, strlen(expected)) != 0)
        err_set(&err, "it does not speak NCCL's RAS protocol");
    free(line);
    if (err.text[0] != '\0') {
        finish(client, NULL, &err);
        return;
    }
    event_del(client->greet);
    client->step++;
    say(client);
}

static void say(struct ras_client *client)
{
    const char *line = steps[client->step].says;

    bufferevent_write(client->stream, line, strlen(line));
}

static void ended(struct ras_client *client, short what)
{
    struct error err;

    if ((what & BEV_EVENT_EOF) != 0 && client->step == STATUS) {
        read_reply(client);
        return;
    }
    err_set(&err, "%s", (what & BEV_EVENT_EOF) != 0 ? "it closed the connection"
                                                    : strerror(EVUTIL_SOCKET_ERROR()));
    finish(client, NULL, &err);
}

static void read_reply(struct ras_client *client)
{
    struct evbuffer *in = bufferevent_get_input(client->stream);
    const size_t     size = evbuffer_get_length(in);
    struct ras_reply reply;
    struct error     err;

    if (ras_reply_read(&reply, client->world_size, (const char *)evbuffer_pullup(in, -1), size,
                       &err) < 0) {
        finish(client, NULL, &err);
        return;
    }
    finish(client, &reply, NULL);
    ras_reply_clear(&reply);
}

/* The last thing that the caller does with the client. */
static void finish(struct ras_client *client, const struct ras_reply *reply,
                   const struct error *err)
{
    hang_up(client);
    event_del(client->begin);
    event_del(client->late);
    client->answer(reply, err, client->arg);
}

static void hang_up(struct ras_client *client)
{
    if (client->stream != NULL)
        bufferevent_free(client->stream);
    client->stream = NULL;
    event_del(client->greet);
}
