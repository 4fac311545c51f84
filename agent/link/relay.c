/* relay.c - see relay.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "link/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "fd.h"

#define RELAY_BYTES (128 * 1024)

/* One direction. */
struct flow {
    int    from, to;
    bool   has_ended; /* from was closed */
    bool   is_broken; /* to accepts no more bytes */
    size_t begin, end;
    char   bytes[RELAY_BYTES];
};

static bool is_over(const struct flow *flow);
static void watch(const struct flow *flow, struct pollfd *from, struct pollfd *to);
static void move(struct flow *flow, const struct pollfd *from, const struct pollfd *to);

int relay_run(int in_fd, int out_fd, int agent_fd, int err_fd)
{
    static struct flow down, up, errors;
    struct pollfd      wait[6];

    down = (struct flow){ .from = in_fd, .to = agent_fd };
    up = (struct flow){ .from = agent_fd, .to = out_fd };
    errors = (struct flow){ .from = err_fd, .to = STDERR_FILENO, .has_ended = err_fd < 0 };
    fd_set_nonblock(in_fd);
    fd_set_nonblock(out_fd);
    fd_set_nonblock(agent_fd);
    if (err_fd >= 0) {
        fd_set_nonblock(err_fd);
        fd_set_nonblock(STDERR_FILENO);
    }
    while (!is_over(&up) && !down.has_ended) {
        watch(&down, &wait[0], &wait[1]);
        watch(&up, &wait[2], &wait[3]);
        watch(&errors, &wait[4], &wait[5]);
        if (poll(wait, 6, -1) < 0 && errno != EINTR)
            break;
        move(&down, &wait[0], &wait[1]);
        move(&up, &wait[2], &wait[3]);
        move(&errors, &wait[4], &wait[5]);
    }
    return up.has_ended ? 0 : 1;
}

/* Before we exit, pass on the bytes that the agent sent last. */
static bool is_over(const struct flow *flow)
{
    return flow->is_broken || (flow->has_ended && flow->begin == flow->end);
}

/* poll() ignores a negative descriptor. */
static void watch(const struct flow *flow, struct pollfd *from, struct pollfd *to)
{
    bool is_empty = flow->begin == flow->end;

    *from = (struct pollfd){ .fd = is_empty && !flow->has_ended ? flow->from : -1,
                             .events = POLLIN };
    *to = (struct pollfd){ .fd = is_empty || flow->is_broken ? -1 : flow->to,
                           .events = POLLOUT };
}

static void move(struct flow *flow, const struct pollfd *from, const struct pollfd *to)
{
    ssize_t done;

    if (from->fd >= 0 && from->revents != 0) {
        done = read(flow->from, flow->bytes, sizeof flow->bytes);
        flow->has_ended = done == 0 || (done < 0 && errno != EAGAIN && errno != EINTR);
        flow->begin = 0;
        flow->end = done > 0 ? (size_t)done : 0;
    }
    if ((to->fd >= 0 && to->revents != 0) || (from->fd >= 0 && flow->end > flow->begin)) {
        done = write(flow->to, flow->bytes + flow->begin, flow->end - flow->begin);
        flow->is_broken = done < 0 && errno != EAGAIN && errno != EINTR;
        flow->begin += done > 0 ? (size_t)done : 0;
    }
}
