/* peers_call.c - a rank calls another: until the answer, see peers_state.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/peers_state.h"

static void say_first(struct call *call);
static void could_not_connect(struct call *call, int why);

void call_begin(const struct peers *peers, int rank, enum greeting_purpose purpose,
                struct call *call)
{
    const struct sockaddr_storage *to = &peers->address[rank];

    *call = (struct call){ .fd = -1 };
    if (to->ss_family == AF_UNSPEC)
        return;
    call->state = PEER_UNREACHABLE;
    if (greeting_begin(&call->first, purpose, peers->rank, rank) < 0)
        return;
    call->fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (call->fd < 0)
        call->why = errno;
    else if (connect(call->fd, (const struct sockaddr *)to, address_size(to)) < 0 &&
             errno != EINPROGRESS)
        could_not_connect(call, errno);
}

void call_take_event(const struct peers *peers, struct call *call)
{
    ssize_t n;

    if (!call->is_connected) {
        say_first(call);
        return;
    }
    n = read(call->fd, (char *)&call->answer + call->got, sizeof call->answer - call->got);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    call->got += n > 0 ? (size_t)n : 0;
    if (n > 0 && !call_has_answer(call))
        return;
    if (n > 0 && greeting_is_answer(&peers->secret, &call->first, &call->answer))
        call->state = PEER_THERE;
    else
        call_end(call, PEER_ENDED); /* or another program uses the port now */
}

static void say_first(struct call *call)
{
    int       why = 0;
    socklen_t size = sizeof why;

    if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &why, &size) < 0 || why != 0) {
        could_not_connect(call, why);
        return;
    }
    call->is_connected = true;
    call->state = PEER_SILENT;
    if (send(call->fd, &call->first, sizeof call->first, MSG_NOSIGNAL) !=
        (ssize_t)sizeof call->first)
        call_end(call, PEER_ENDED); /* it fits into the buffer of a new socket */
}

static void could_not_connect(struct call *call, int why)
{
    call->why = why;
    call_end(call, why == ECONNREFUSED || why == ECONNRESET ? PEER_ENDED : PEER_UNREACHABLE);
}

bool call_has_answer(const struct call *call)
{
    return call->got == sizeof call->answer;
}

void call_end(struct call *call, enum peer_state state)
{
    hang_up(&call->fd);
    call->state = state;
}

void hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

socklen_t address_size(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}
