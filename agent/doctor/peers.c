/* peers.c - the connections to the other nodes: TCP to a high port, and
 * data larger than one packet
 *
 * Each node listens on its port and connects to its peers, on all their addresses at once.
 * It sends a greeting and then many full packets, and waits for the answer. If the
 * connection is made but the answer does not arrive, large packets are lost on the way. The
 * greeting and the answer name the sender, since an address alone proves nothing: many
 * machines have a 172.17.0.1.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "doctor/listen.h"
#include "frame.h"
#include "xalloc.h"

#define PEERS_MAX     64
#define ADDRESSES_MAX 4 /* per peer */
#define CALLERS_MAX   (2 * PEERS_MAX)
#define GREETING      20 /* bytes: token, number of the sender */
#define TOKEN         16
#define LOAD          (48u << 10) /* bytes: many packets of any usual size */
/* Time to connect, since peers may begin later; and again for the answer. */
#define CALL_S   2.0
#define AGAIN_S  0.05
#define LISTEN_S 5.0 /* at most, for peers that connect to us */

enum call_state { CALL_WAITS, CALL_CONNECTS, CALL_SENDS, CALL_OVER };

struct peer {
    int     node, port;
    bool    is_reached, is_connected; /* is_connected: but without an answer */
    char    interface[IF_NAMESIZE], address[INET6_ADDRSTRLEN], why[64];
    int     mtu;
    int64_t connected_ns;
};

struct call {
    struct peer            *peer;
    struct sockaddr_storage to;
    socklen_t               to_size;
    enum call_state         state;
    int                     fd;
    int64_t                 again_ns;
    size_t                  sent, got;
    unsigned char           answer[GREETING];
};

struct caller {
    int           fd; /* -1: closed */
    size_t        got, sent;
    unsigned char greeting[GREETING];
};

struct round {
    unsigned char greeting[GREETING]; /* our greeting; load follows it as ballast */
    unsigned char load[LOAD];
    int64_t       begun_ns;
    int           port, listener; /* -1: another program has taken the port */
    struct peer   peer[PEERS_MAX];
    size_t        peers;
    struct call   call[PEERS_MAX * ADDRESSES_MAX];
    size_t        calls;
    struct caller caller[CALLERS_MAX];
    size_t        callers;
    uint32_t      heard[PEERS_MAX]; /* peers that have connected and got their answer */
    size_t        heard_count;

    struct ifaddrs *interfaces; /* read once: that takes the kernel long if there are many */
};

static bool read_request(const struct checkup *checkup, struct round *round);
static void add_peer(struct round *round, const json_t *item);
static bool is_over(const struct round *round);
static bool advance(struct round *round);
static void call_begin(struct round *round, struct call *call);
static void call_take(struct round *round, struct call *call, short revents);
static void call_exchange(struct round *round, struct call *call);
static bool call_is_late(const struct round *round, const struct call *call);
static void call_failed(struct round *round, struct call *call, int error);
static void call_end(struct call *call);
static void note_way(const struct round *round, struct peer *peer, int fd);
static void callers_accept(struct round *round);
static void caller_take(struct round *round, struct caller *caller);
static void note_heard(struct round *round, uint32_t node);
static void tell(const struct checkup *checkup, const struct round *round);

void peers_check(const struct checkup *checkup)
{
    struct round *round = xcalloc(1, sizeof *round);

    round->begun_ns = clock_now_ns();
    if (getifaddrs(&round->interfaces) < 0)
        round->interfaces = NULL;
    if (read_request(checkup, round))
        while (!is_over(round) && advance(round))
            ;
    tell(checkup, round);
    freeifaddrs(round->interfaces);
    free(round);
}

static bool read_request(const struct checkup *checkup, struct round *round)
{
    const json_t *peers = json_object_get(checkup->request, "peers"), *item;
    const char   *token = checkup_word(checkup, "token");
    size_t        i;

    if (token == NULL || strlen(token) != TOKEN)
        return false;
    memcpy(round->greeting, token, TOKEN);
    put_u32(round->greeting + TOKEN,
            (uint32_t)json_integer_value(json_object_get(checkup->request, "node")));
    round->port = (int)json_integer_value(json_object_get(checkup->request, "port"));
    round->listener = listen_at(round->port);
    json_array_foreach(peers, i, item)
        if (round->peers < PEERS_MAX)
            add_peer(round, item);
    return true;
}

static void add_peer(struct round *round, const json_t *item)
{
    const json_t *addresses = json_object_get(item, "addresses"), *address;
    struct peer  *peer = &round->peer[round->peers++];
    struct call  *call;
    size_t        i;

    peer->node = (int)json_integer_value(json_object_get(item, "node"));
    peer->port = (int)json_integer_value(json_object_get(item, "port"));
    snprintf(peer->why, sizeof peer->why, "timed out");
    json_array_foreach(addresses, i, address) {
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)peer->port) };
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                                   .sin6_port = htons((uint16_t)peer->port) };
        const char         *text = json_string_value(address);

        if (i == ADDRESSES_MAX || text == NULL)
            break;
        call = &round->call[round->calls];
        *call = (struct call){ .peer = peer, .fd = -1, .again_ns = round->begun_ns };
        if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
            memcpy(&call->to, &v4, sizeof v4);
            call->to_size = sizeof v4;
        } else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
            memcpy(&call->to, &v6, sizeof v6);
            call->to_size = sizeof v6;
        } else {
            continue;
        }
        if (peer->address[0] == '\0')
            snprintf(peer->address, sizeof peer->address, "%s", text);
        round->calls++;
    }
}

/* All calls are over, and all callers have got their answers, or would
 * have connected by now. */
static bool is_over(const struct round *round)
{
    int64_t since_ns = clock_now_ns() - round->begun_ns;
    size_t  i;

    for (i = 0; i < round->calls; i++)
        if (round->call[i].state != CALL_OVER)
            return false;
    for (i = 0; i < round->callers; i++)
        if (round->caller[i].fd >= 0 && since_ns < (int64_t)(LISTEN_S * NS_PER_S))
            return false;
    return round->heard_count >= round->peers || since_ns > (int64_t)((CALL_S + 0.2) * NS_PER_S);
}

/* Does what is possible now, then waits for more. */
static bool advance(struct round *round)
{
    struct pollfd wait[1 + PEERS_MAX * ADDRESSES_MAX + CALLERS_MAX];
    size_t        i, calls = round->calls, callers = round->callers;

    for (i = 0; i < calls; i++)
        if (round->call[i].state == CALL_WAITS && clock_now_ns() >= round->call[i].again_ns)
            call_begin(round, &round->call[i]);
    wait[0] = (struct pollfd){ .fd = round->listener, .events = POLLIN };
    for (i = 0; i < calls; i++)
        wait[1 + i] =
            (struct pollfd){ .fd = round->call[i].state == CALL_OVER ? -1 : round->call[i].fd,
                             .events = round->call[i].state == CALL_SENDS &&
                                               round->call[i].sent == GREETING + LOAD
                                           ? POLLIN
                                           : POLLIN | POLLOUT };
    for (i = 0; i < callers; i++)
        wait[1 + calls + i] = (struct pollfd){ .fd = round->caller[i].fd, .events = POLLIN };
    if (round->listener < 0)
        round->listener = listen_at(round->port);
    if (poll(wait, 1 + calls + callers, (int)(AGAIN_S * 1000)) < 0 && errno != EINTR)
        return false;
    if (wait[0].revents != 0)
        callers_accept(round);
    for (i = 0; i < calls; i++)
        call_take(round, &round->call[i], wait[1 + i].revents);
    for (i = 0; i < callers; i++)
        if (wait[1 + calls + i].revents != 0)
            caller_take(round, &round->caller[i]);
    return true;
}

static void call_begin(struct round *round, struct call *call)
{
    if (call->peer->is_reached) {
        call_end(call);
        return;
    }
    call->sent = call->got = 0;
    call->fd = socket(call->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    call->state = CALL_CONNECTS;
    if (call->fd < 0 ||
        (connect(call->fd, (const struct sockaddr *)&call->to, call->to_size) < 0 &&
         errno != EINPROGRESS))
        call_failed(round, call, errno);
}

/* revents: what poll() reported for the call's socket. */
static void call_take(struct round *round, struct call *call, short revents)
{
    int       error = 0;
    socklen_t size = sizeof error;

    if (call->state == CALL_OVER || call->state == CALL_WAITS)
        return;
    if (call->peer->is_reached) {
        call_end(call);
        return;
    }
    if (call->state == CALL_CONNECTS && revents != 0) {
        getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) {
            call_failed(round, call, error);
            return;
        }
        call->state = CALL_SENDS;
        if (!call->peer->is_connected)
            call->peer->connected_ns = clock_now_ns();
        call->peer->is_connected = true;
    }
    if (call->state == CALL_SENDS && revents != 0)
        call_exchange(round, call);
    if (call_is_late(round, call))
        call_end(call);
}

/* Sends the remaining bytes, and reads the answer. */
static void call_exchange(struct round *round, struct call *call)
{
    ssize_t done = 0;

    while (call->sent < GREETING + LOAD && done >= 0) {
        done =
            call->sent < GREETING
                ? send(call->fd, round->greeting + call->sent, GREETING - call->sent, MSG_NOSIGNAL)
                : send(call->fd, round->load, GREETING + LOAD - call->sent, MSG_NOSIGNAL);
        call->sent += done > 0 ? (size_t)done : 0;
    }
    done = recv(call->fd, call->answer + call->got, GREETING - call->got, 0);
    call->got += done > 0 ? (size_t)done : 0;
    if (call->got == GREETING && memcmp(call->answer, round->greeting, TOKEN) == 0 &&
        get_u32(call->answer + TOKEN) == (uint32_t)call->peer->node) {
        call->peer->is_reached = true;
        note_way(round, call->peer, call->fd);
        call_end(call);
    } else if (done == 0 || call->got == GREETING || (done < 0 && errno != EAGAIN)) {
        call->peer->is_connected = false;
        call_failed(round, call, done < 0 ? errno : ECONNRESET);
    }
}

static bool call_is_late(const struct round *round, const struct call *call)
{
    int64_t since_ns = call->state == CALL_SENDS ? call->peer->connected_ns : round->begun_ns;

    return (call->state == CALL_SENDS || call->state == CALL_CONNECTS) &&
           clock_now_ns() - since_ns > (int64_t)(CALL_S * NS_PER_S);
}

/* Retries soon, since the peer may not listen yet. */
static void call_failed(struct round *round, struct call *call, int error)
{
    snprintf(call->peer->why, sizeof call->peer->why, "%s", strerror(error));
    call_end(call);
    if (clock_now_ns() - round->begun_ns > (int64_t)(CALL_S * NS_PER_S))
        return;
    call->state = CALL_WAITS;
    call->again_ns = clock_now_ns() + (int64_t)(AGAIN_S * NS_PER_S);
}

static void call_end(struct call *call)
{
    if (call->fd >= 0)
        close(call->fd);
    call->fd = -1;
    call->state = CALL_OVER;
}

/* Stores the address, the interface and the MTU of the connection. */
static void note_way(const struct round *round, struct peer *peer, int fd)
{
    struct sockaddr_storage own = { 0 }, theirs = { 0 };
    socklen_t               size = sizeof own, their_size = sizeof theirs;
    const struct ifaddrs   *one;
    struct ifreq            request = { 0 };
    size_t                  skip, bytes;

    getsockname(fd, (struct sockaddr *)&own, &size);
    skip = own.ss_family == AF_INET ? offsetof(struct sockaddr_in, sin_addr)
                                    : offsetof(struct sockaddr_in6, sin6_addr);
    if (getpeername(fd, (struct sockaddr *)&theirs, &their_size) == 0)
        inet_ntop(theirs.ss_family, (const char *)&theirs + skip, peer->address,
                  sizeof peer->address);
    bytes = own.ss_family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    for (one = round->interfaces; one != NULL; one = one->ifa_next)
        if (one->ifa_addr != NULL && one->ifa_addr->sa_family == own.ss_family &&
            memcmp((const char *)one->ifa_addr + skip, (const char *)&own + skip, bytes) == 0)
            snprintf(peer->interface, sizeof peer->interface, "%s", one->ifa_name);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", peer->interface);
    if (ioctl(fd, SIOCGIFMTU, &request) == 0)
        peer->mtu = request.ifr_mtu;
}

static void callers_accept(struct round *round)
{
    size_t i;
    int    fd;

    while ((fd = accept4(round->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        for (i = 0; i < round->callers && round->caller[i].fd >= 0; i++)
            ;
        if (i == CALLERS_MAX) {
            close(fd);
            continue;
        }
        round->caller[i] = (struct caller){ .fd = fd };
        round->callers += i == round->callers;
    }
}

static void caller_take(struct round *round, struct caller *caller)
{
    unsigned char part[16384], answer[GREETING];
    ssize_t       got;

    while ((got = recv(caller->fd, part, sizeof part, 0)) > 0) {
        if (caller->got < GREETING)
            memcpy(caller->greeting + caller->got, part,
                   (size_t)got < GREETING - caller->got ? (size_t)got : GREETING - caller->got);
        caller->got += (size_t)got;
    }
    if (caller->got == GREETING + LOAD && caller->sent == 0 &&
        memcmp(caller->greeting, round->greeting, TOKEN) == 0) {
        memcpy(answer, round->greeting, GREETING);
        caller->sent = send(caller->fd, answer, GREETING, MSG_NOSIGNAL) == GREETING;
        note_heard(round, get_u32(caller->greeting + TOKEN));
        return;
    }
    if (got == 0 || (got < 0 && errno != EAGAIN) || caller->got > GREETING + LOAD) {
        close(caller->fd);
        caller->fd = -1;
    }
}

/* Counts a peer once: it may connect on several addresses. */
static void note_heard(struct round *round, uint32_t node)
{
    size_t i;

    for (i = 0; i < round->heard_count; i++)
        if (round->heard[i] == node)
            return;
    if (round->heard_count < PEERS_MAX)
        round->heard[round->heard_count++] = node;
}

static void tell(const struct checkup *checkup, const struct round *round)
{
    json_t *reached = json_array(), *failed = json_array(), *item;
    size_t  i;

    for (i = 0; i < round->peers; i++) {
        const struct peer *peer = &round->peer[i];

        item = json_pack("{s:i, s:s, s:i, s:i, s:s}", "node", peer->node, "if", peer->interface,
                         "mtu", peer->mtu, "port", peer->port, "address", peer->address);
        if (!peer->is_reached) {
            json_object_set_new(item, "why", json_string(peer->why));
            json_object_set_new(item, "connected", json_boolean(peer->is_connected));
        }
        json_array_append_new(peer->is_reached ? reached : failed, item);
    }
    checkup_fact(checkup, "peers",
                 json_pack("{s:o, s:o, s:b}", "reached", reached, "failed", failed, "listens",
                           round->listener >= 0));
}
