/* draining.c - see draining.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/draining.h"

#include <stdlib.h>

#include "clock.h"
#include "xalloc.h"
#include "xevent.h"

struct draining {
    struct conn     *conn;
    struct draining *next;
};

/* All draining connections of this process. */
static struct draining *all;

static void late_cb(evutil_socket_t fd, short what, void *arg);
static void drop(struct draining *one);

static void conn_stage(const char *stage, void *arg)
{
    (void)stage, (void)arg;
}

static void conn_open(void *arg)
{
    (void)arg;
}

static void conn_input(struct evbuffer *in, void *arg)
{
    (void)arg;
    evbuffer_drain(in, evbuffer_get_length(in));
}

static void conn_closed(const struct conn_failure *why, void *arg)
{
    (void)why;
    drop(arg);
}

static const struct conn_ops conn_ops = {
    .stage = conn_stage,
    .open = conn_open,
    .input = conn_input,
    .closed = conn_closed,
};

void draining_add(struct conn *conn)
{
    struct draining *one;

    if (!conn_close_input(conn)) {
        conn_free(conn);
        return;
    }
    one = xmalloc(sizeof *one);
    *one = (struct draining){ .conn = conn, .next = all };
    all = one;
    conn_hand_over(conn, &conn_ops, one);
}

void draining_await(struct event_base *base, double limit_s)
{
    const struct timeval limit = clock_interval(limit_s);
    bool                 is_late = false;
    struct event        *late = xevent_new(base, -1, late_cb, &is_late);

    xevent_add(late, &limit);
    while (all != NULL && !is_late &&
           event_base_loop(base, EVLOOP_ONCE) == 0 && !event_base_got_break(base))
        ;
    event_free(late);
    while (all != NULL)
        drop(all);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    *(bool *)arg = true;
}

static void drop(struct draining *one)
{
    struct draining **at = &all;

    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    conn_free(one->conn);
    free(one);
}
