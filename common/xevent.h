/* xevent.h - libevent's events; the program exits if one cannot be created or watched
 *
 * The kernel can refuse to watch a descriptor (out of memory, too many watched). The program
 * could not continue: it would never notice events on the descriptor.
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

/* Returns an event that waits for nothing yet: use xevent_watch(), or xevent_add() with a time
 * limit if fd is -1. */
static inline struct event *xevent_new(struct event_base *base, int fd, event_callback_fn cb,
                                       void *arg)
{
    struct event *event = event_new(base, fd, 0, cb, arg);

    if (event == NULL)
        xalloc_die();
    return event;
}

/* From now on waits for `what` (EV_READ, EV_WRITE) and nothing else. */
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
