/* reach_call.c - see reach_call.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/nodes/reach_call.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define AT_ONCE 200 /* connections at the same time, as descriptors are limited */

static void call_some(struct reach_call *calls, int count, double timeout_s);
static void begin(struct reach_call *call);
static void take_event(struct reach_call *call);
static void take_bytes(struct reach_call *call);
static void end(struct reach_call *call, int why);

void reach_call_all(struct reach_call *calls, int count, double timeout_s)
{
    int done;

    for (done = 0; done < count; done += AT_ONCE)
        call_some(calls + done, count - done < AT_ONCE ? count - done : AT_ONCE, timeout_s);
}

static void call_some(struct reach_call *calls, int count, double timeout_s)
{
    const int64_t deadline_ns = clock_now_ns() + (int64_t)(timeout_s * NS_PER_S);
    struct pollfd ready[AT_ONCE];
    int64_t       left_ms;
    int           i, waiting;

    for (i = 0; i < count; i++)
        begin(&calls[i]);
    for (;;) {
        for (i = waiting = 0; i < count; i++) {
            ready[i] = (struct pollfd){ .fd = calls[i].fd,
                                        .events = calls[i].why == EINPROGRESS ? POLLOUT : POLLIN };
            waiting += calls[i].fd >= 0;
        }
        left_ms = (deadline_ns - clock_now_ns()) / 1000000;
        if (waiting == 0 || left_ms <= 0)
            break;
        if (poll(ready, (nfds_t)count, (int)left_ms) < 0)
            continue; /* a signal */
        for (i = 0; i < count; i++)
            if (ready[i].revents != 0)
                take_event(&calls[i]);
    }
    for (i = 0; i < count; i++)
        if (calls[i].fd >= 0)
            end(&calls[i], calls[i].why == EINPROGRESS ? ETIMEDOUT : REACH_NO_DATA);
}

static void begin(struct reach_call *call)
{
    call->got_size = 0;
    call->fd = socket(call->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    call->why = EINPROGRESS;
    if (call->fd < 0)
        call->why = errno;
    else if (connect(call->fd, (struct sockaddr *)&call->to, call->to_size) < 0 &&
             errno != EINPROGRESS)
        end(call, errno);
}

/* why is EINPROGRESS until the call is connected, then EAGAIN. */
static void take_event(struct reach_call *call)
{
    int       why = 0;
    socklen_t size = sizeof why;

    if (call->why != EINPROGRESS) {
        take_bytes(call);
        return;
    }
    if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &why, &size) < 0)
        why = errno;
    if (why != 0)
        end(call, why);
    else
        call->why = EAGAIN;
}

static void take_bytes(struct reach_call *call)
{
    char    bytes[8192];
    ssize_t n = read(call->fd, bytes, sizeof bytes);
    size_t  room = call->got_size < REACH_TOKEN ? REACH_TOKEN - call->got_size : 0;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        end(call, errno);
        return;
    }
    if (room > 0)
        memcpy(call->got + call->got_size, bytes, (size_t)n < room ? (size_t)n : room);
    call->got_size += (size_t)n;
    if (n == 0 ||
        (call->got_size >= REACH_TOKEN && memcmp(call->got, call->token, REACH_TOKEN) != 0))
        end(call, REACH_SOMEBODY_ELSE);
    else if (call->got_size >= REACH_BYTES)
        end(call, 0);
}

static void end(struct reach_call *call, int why)
{
    close(call->fd);
    call->fd = -1;
    call->why = why;
}
