/* xevent.h - events that are there and are waited for, or the end of the program
 *
 * The kernel can refuse a descriptor (out of memory, too many watched). Nobody
 * would ever come to know what happens on it, so that is no state to go on in.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_XEVENT_H
#define MUSTER_XEVENT_H

#include <event2/event.h>

#include "xalloc.h"

static inline void xevent_add(struct event *event, const struct timeval *limit)
{
    if (event_add(event, limit) < 0)
        xalloc_die();
}

/* An event that waits for nothing yet: for xevent_watch(), or a time limit if fd is -1. */
static inline struct event *xevent_new(struct event_base *base, int fd, event_callback_fn cb,
                                       void *arg)
{
    struct event *event = event_new(base, fd, 0, cb, arg);

    if (event == NULL)
        xalloc_die();
    return event;
}

/* Wait for what (EV_READ, EV_WRITE) from now on, and for nothing else. */
static inline void xevent_watch(struct event *event, short what)
{
    what |= EV_PERSIST;
    if (event_get_events(event) == what)
        return;
    event_del(event);
    event_assign(event, event_get_base(event), event_get_fd(event), what,
                 event_get_callback(event), event_get_callback_arg(event));
    xevent_add(event, NULL);
}

#endif
