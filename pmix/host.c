/* host.c - see host.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "host.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>

#include "exchange.h"
#include "job.h"
#include "server.h"
#include "strlist.h"
#include "xalloc.h"
#include "xevent.h"

/* Calls that wait: fences for their turn, others until the agent can read what they are about. */
struct waiting {
    struct server_call *call;
    struct waiting     *next;
};

struct connection {
    struct host        *host;
    int                 local;
    struct bufferevent *event;
    struct waiting     *unsent;
};

struct host {
    int                 fd;
    struct event_base  *base;
    struct event       *agent, *calls;
    struct job          job;
    struct connection  *connection; /* by local rank */
    int                 connections;
    struct evbuffer   **out;        /* by local rank */
    struct exchange    *exchange;   /* NULL: connections are missing */
    struct waiting     *fences;     /* the first one is under way */
    struct error        err;
    bool                has_failed;
};

static int     begin(struct host *host, struct error *err);
static json_t *receive(struct host *host, int *passed, struct error *err);
static int     send_env(struct host *host, int local, struct error *err);
static void    serve(struct host *host);
static void    agent_cb(evutil_socket_t fd, short what, void *arg);
static void    connect_rank(struct host *host, int fd);
static void    calls_cb(evutil_socket_t fd, short what, void *arg);
static void    take_call(struct host *host, struct server_call *call);
static bool    add_waiting(struct waiting **list, struct server_call *call);
static struct server_call *take_waiting(struct waiting **list);
static void    written_cb(struct bufferevent *event, void *arg);
static void    readable_cb(struct bufferevent *event, void *arg);
static void    event_cb(struct bufferevent *event, short what, void *arg);
static void    host_fail(struct host *host);
static void    clear(struct host *host);

int host_run(int fd, struct error *err)
{
    struct host host = { .fd = fd };
    int         rc;

    /* The agent ends this program after the ranks, which may use MPI until their last moment. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    rc = begin(&host, err);
    if (rc == 0) {
        serve(&host);
        server_stop();
        if (host.has_failed)
            *err = host.err;
        rc = host.has_failed ? -1 : 0;
    }
    clear(&host);
    return rc;
}

static int begin(struct host *host, struct error *err)
{
    int         i;
    const char *dir;
    json_t     *body = receive(host, NULL, err);

    if (body == NULL)
        return -1;
    dir = json_string_value(json_object_get(body, "dir"));
    if (dir == NULL || job_read(&host->job, body, err) < 0) {
        json_decref(body);
        return dir == NULL ? err_set(err, "the agent names no directory") : -1;
    }
    i = server_start(&host->job, dir, err);
    json_decref(body);
    if (i < 0)
        return -1;
    host->connection = xcalloc((size_t)host->job.ranks, sizeof *host->connection);
    host->out = xcalloc((size_t)host->job.ranks, sizeof(struct evbuffer *));
    for (i = 0; i < host->job.ranks; i++)
        if (send_env(host, i, err) < 0)
            return -1;
    return 0;
}

/* Returns the body of the next packet, and in *passed its descriptor or -1; NULL with err. */
static json_t *receive(struct host *host, int *passed, struct error *err)
{
    char         *text = xmalloc(HOST_PACKET_MAX);
    union {
        struct cmsghdr align;
        char           bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec    into = { .iov_base = text, .iov_len = HOST_PACKET_MAX };
    struct msghdr   header = { .msg_iov = &into, .msg_iovlen = 1,
                               .msg_control = control.bytes, .msg_controllen = sizeof control };
    struct cmsghdr *item;
    ssize_t         got;
    json_t         *body = NULL;
    int             fd = -1;

    do
        got = recvmsg(host->fd, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    item = got >= 0 ? CMSG_FIRSTHDR(&header) : NULL;
    if (item != NULL && item->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(item), sizeof fd);
    if (got < 0)
        err_set(err, "cannot hear the agent: %s", strerror(errno));
    else if (got == 0)
        err_set(err, "the agent is gone");
    else if ((body = json_loadb(text, (size_t)got, 0, NULL)) == NULL)
        err_set(err, "the agent sent no JSON");
    if (passed != NULL)
        *passed = fd;
    else if (fd >= 0)
        evutil_closesocket(fd);
    free(text);
    return body;
}

static int send_env(struct host *host, int local, struct error *err)
{
    struct strlist env = { 0 };
    json_t        *list = json_array(), *body;
    size_t         i;
    char          *text;
    int            rc = server_env(local, &env, err);

    for (i = 0; i < env.count; i++)
        json_array_append_new(list, json_string(env.item[i]));
    body = json_pack("{s:o}", "env", list);
    text = json_dumps(body, JSON_COMPACT);
    if (text == NULL)
        xalloc_die();
    if (rc == 0 && send(host->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        rc = err_set(err, "cannot send to the agent: %s", strerror(errno));
    free(text);
    json_decref(body);
    strlist_clear(&env);
    return rc;
}

static void serve(struct host *host)
{
    host->base = event_base_new();
    if (host->base == NULL)
        xalloc_die();
    host->agent = event_new(host->base, host->fd, EV_READ | EV_PERSIST, agent_cb, host);
    host->calls = event_new(host->base, server_fd(), EV_READ | EV_PERSIST, calls_cb, host);
    if (host->agent == NULL || host->calls == NULL)
        xalloc_die();
    xevent_add(host->agent, NULL);
    event_base_dispatch(host->base);
}

static void agent_cb(evutil_socket_t fd, short what, void *arg)
{
    struct host *host = arg;
    struct error err;
    int          passed;
    json_t      *body = receive(host, &passed, &err);

    (void)fd, (void)what;
    if (passed >= 0 && host->connections < host->job.ranks)
        connect_rank(host, passed);
    else if (passed >= 0)
        evutil_closesocket(passed);
    if (body == NULL)
        event_base_loopbreak(host->base);
    json_decref(body);
}

/* Calls of the ranks wait in the pipe until all connections are here. */
static void connect_rank(struct host *host, int fd)
{
    struct connection *connection = &host->connection[host->connections];

    evutil_make_socket_nonblocking(fd);
    connection->host = host;
    connection->local = host->connections;
    connection->event = bufferevent_socket_new(host->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (connection->event == NULL)
        xalloc_die();
    bufferevent_setcb(connection->event, readable_cb, written_cb, event_cb, connection);
    bufferevent_enable(connection->event, EV_READ);
    host->out[host->connections++] = bufferevent_get_output(connection->event);
    if (host->connections < host->job.ranks)
        return;
    host->exchange = exchange_new(host->job.nodes, host->job.node, host->job.ranks, host->out);
    xevent_add(host->calls, NULL);
}

static void calls_cb(evutil_socket_t fd, short what, void *arg)
{
    struct host        *host = arg;
    struct server_call *call;

    (void)fd, (void)what;
    while ((call = server_take()) != NULL)
        take_call(host, call);
}

static void take_call(struct host *host, struct server_call *call)
{
    switch (call->type) {
    case CALL_CONNECTED:
        exchange_rank_begins(host->exchange, call->local);
        break;
    case CALL_FINALIZED:
        exchange_rank_finishes(host->exchange, call->local);
        break;
    case CALL_ABORT:
        exchange_rank_aborts(host->exchange, call->local, call->code);
        break;
    case CALL_FENCE:
        if (add_waiting(&host->fences, call))
            exchange_begin(host->exchange, call->bytes, call->size);
        return;
    }
    add_waiting(&host->connection[call->local].unsent, call);
}

/* True: it is the only one. */
static bool add_waiting(struct waiting **list, struct server_call *call)
{
    struct waiting *last = xcalloc(1, sizeof *last), **end = list;

    last->call = call;
    while (*end != NULL)
        end = &(*end)->next;
    *end = last;
    return last == *list;
}

static struct server_call *take_waiting(struct waiting **list)
{
    struct waiting     *first = *list;
    struct server_call *call = first->call;

    *list = first->next;
    free(first);
    return call;
}

/* A rank goes on, and may exit, once the agent can read what the rank does: whether it has
 * finished decides about its status. */
static void written_cb(struct bufferevent *event, void *arg)
{
    struct connection *connection = arg;

    (void)event;
    while (connection->unsent != NULL)
        server_answer(take_waiting(&connection->unsent), NULL, 0);
}

static void readable_cb(struct bufferevent *event, void *arg)
{
    struct connection  *connection = arg;
    struct host        *host = connection->host;
    char               *bytes;
    size_t              size;
    int                 rc;

    if (host->exchange == NULL || host->has_failed)
        return;
    rc = exchange_input(host->exchange, connection->local, bufferevent_get_input(event),
                        &host->err);
    if (rc < 0)
        host_fail(host);
    if (rc <= 0)
        return;
    bytes = exchange_take(host->exchange, &size);
    server_answer(take_waiting(&host->fences), bytes, size);
    if (host->fences != NULL)
        exchange_begin(host->exchange, host->fences->call->bytes, host->fences->call->size);
}

/* The rank has ended. If others still wait for it, the agent ends them, too. */
static void event_cb(struct bufferevent *event, short what, void *arg)
{
    (void)what;
    bufferevent_disable(event, EV_READ | EV_WRITE);
    written_cb(event, arg);
}

/* Ranks that wait in a fence would wait forever. */
static void host_fail(struct host *host)
{
    host->has_failed = true;
    event_base_loopbreak(host->base);
}

static void clear(struct host *host)
{
    int i;

    for (i = 0; i < host->connections; i++) {
        while (host->connection[i].unsent != NULL)
            server_drop(take_waiting(&host->connection[i].unsent));
        bufferevent_free(host->connection[i].event);
    }
    while (host->fences != NULL)
        server_drop(take_waiting(&host->fences));
    exchange_free(host->exchange);
    if (host->agent != NULL)
        event_free(host->agent);
    if (host->calls != NULL)
        event_free(host->calls);
    if (host->base != NULL)
        event_base_free(host->base);
    free(host->connection);
    free(host->out);
    job_clear(&host->job);
}
