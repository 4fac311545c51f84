/* reach.c - see reach.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check/nodes/post.h"
#include "check/nodes/reach_call.h"
#include "xalloc.h"

static int   start_listening(struct reach *reach, struct error *err);
static void *answer_all(void *arg);
static void  answer_one(const struct reach *reach);
static int   own_post(struct reach *reach, struct pmi *pmi, struct error *err);
static int   read_calls(const struct reach *reach, struct pmi *pmi, struct reach_call *calls,
                        int *count, struct error *err);
static int   read_call(struct reach_call *call, struct pmi *pmi, int round, int rank,
                       struct error *err);

int reach_open(struct reach *reach, const struct roster *roster, struct pmi *pmi,
               const struct iface *iface, int round, struct error *err)
{
    unsigned char bytes[16];

    *reach = (struct reach){ .roster = roster, .iface = *iface, .round = round, .listener = -1,
                             .stop = { -1, -1 } };
    if (roster->leader[roster->rank[pmi->rank].node] != pmi->rank)
        return 0;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_set(err, "cannot get random numbers: %s", strerror(errno));
    hex_encode(bytes, sizeof bytes, reach->token);
    if (start_listening(reach, err) < 0)
        return -1;
    return own_post(reach, pmi, err);
}

static int start_listening(struct reach *reach, struct error *err)
{
    const struct sockaddr *address = (const struct sockaddr *)&reach->iface.socket_address;
    const socklen_t        size = address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                                : sizeof(struct sockaddr_in6);
    int                    rc;

    reach->listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (reach->listener < 0 || bind(reach->listener, address, size) < 0 ||
        listen(reach->listener, 1024) < 0 || pipe2(reach->stop, O_CLOEXEC) < 0)
        return err_set(err, "cannot listen at %s (%s): %s", reach->iface.address,
                       reach->iface.name, strerror(errno));
    rc = pthread_create(&reach->thread, NULL, answer_all, reach);
    if (rc == 0)
        return 0;
    close(reach->stop[1]);
    reach->stop[1] = -1;
    return err_set(err, "cannot start a thread: %s", strerror(rc));
}

/* The thread; runs until reach_close(). */
static void *answer_all(void *arg)
{
    const struct reach *reach = arg;
    struct pollfd       ready[2] = { { .fd = reach->listener, .events = POLLIN },
                                     { .fd = reach->stop[0], .events = POLLIN } };

    while (ready[1].revents == 0) {
        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            break;
        if (ready[0].revents != 0)
            answer_one(reach);
    }
    return NULL;
}

/* The answer fits into the socket's buffer, and the kernel sends it after the close. */
static void answer_one(const struct reach *reach)
{
    const int   size = 4 * (int)REACH_BYTES;
    static char answer[REACH_BYTES]; /* used only by this thread */
    int         fd = accept4(reach->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    memcpy(answer, reach->token, REACH_TOKEN);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    (void)!send(fd, answer, sizeof answer, MSG_NOSIGNAL);
    close(fd);
}

static int own_post(struct reach *reach, struct pmi *pmi, struct error *err)
{
    struct sockaddr_storage own;
    socklen_t               size = sizeof own;
    char                    port[8], line[160], name[16];

    if (getsockname(reach->listener, (struct sockaddr *)&own, &size) < 0 ||
        getnameinfo((struct sockaddr *)&own, size, NULL, 0, port, sizeof port,
                    NI_NUMERICSERV) != 0)
        return err_set(err, "cannot find the number of the open port");
    snprintf(line, sizeof line, "%s %s %s %s", reach->iface.address, port, reach->token,
             *reach->iface.name != '\0' ? reach->iface.name : "?");
    snprintf(name, sizeof name, "listen%d", reach->round);
    return post_put(pmi, name, line, err);
}

int reach_try(struct reach *reach, struct pmi *pmi, double timeout_s, int *failed,
              struct error *err)
{
    struct reach_call *calls;
    char               text[POST_MAX] = "", name[16];
    size_t             used = 0;
    int                count = 0, i, rc = -1;

    *failed = 0;
    if (reach->listener < 0)
        return 0;
    calls = xcalloc((size_t)reach->roster->nodes, sizeof *calls);
    if (read_calls(reach, pmi, calls, &count, err) == 0) {
        reach_call_all(calls, count, timeout_s);
        for (i = 0; i < count; i++) {
            if (calls[i].why == 0)
                continue;
            ++*failed;
            if (used < sizeof text)
                used += (size_t)snprintf(text + used, sizeof text - used, "%d:%d ",
                                         reach->roster->rank[calls[i].rank].node, calls[i].why);
        }
        snprintf(name, sizeof name, "reach%d", reach->round);
        rc = post_put(pmi, name, text, err);
    }
    free(calls);
    return rc;
}

/* Reads where the first ranks of the other nodes listen. */
static int read_calls(const struct reach *reach, struct pmi *pmi, struct reach_call *calls,
                      int *count, struct error *err)
{
    int node, leader;

    for (node = 0; node < reach->roster->nodes; node++) {
        leader = reach->roster->leader[node];
        if (leader == pmi->rank)
            continue;
        if (read_call(&calls[*count], pmi, reach->round, leader, err) < 0)
            return -1;
        ++*count;
    }
    return 0;
}

static int read_call(struct reach_call *call, struct pmi *pmi, int round, int rank,
                     struct error *err)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
    struct addrinfo      *found;
    char                  name[16], *text, *rest;
    const char           *address, *port, *token;
    int                   rc;

    snprintf(name, sizeof name, "listen%d", round);
    rest = text = post_get(pmi, name, rank, err);
    if (text == NULL)
        return -1;
    *call = (struct reach_call){ .rank = rank };
    address = strsep(&rest, " ");
    port = strsep(&rest, " ");
    token = strsep(&rest, " ");
    if (port == NULL || token == NULL || strlen(token) >= sizeof call->token ||
        getaddrinfo(address, port, &hints, &found) != 0) {
        rc = err_set(err, "the address of rank %d cannot be parsed: '%.80s'", rank, text);
    } else {
        memcpy(&call->to, found->ai_addr, found->ai_addrlen);
        call->to_size = found->ai_addrlen;
        memcpy(call->token, token, strlen(token) + 1);
        freeaddrinfo(found);
        rc = 0;
    }
    free(text);
    return rc;
}

void reach_close(struct reach *reach)
{
    if (reach->roster == NULL)
        return;
    if (reach->stop[1] >= 0) {
        close(reach->stop[1]);
        pthread_join(reach->thread, NULL);
        close(reach->stop[0]);
    }
    if (reach->listener >= 0)
        close(reach->listener);
    *reach = (struct reach){ .listener = -1 };
}
