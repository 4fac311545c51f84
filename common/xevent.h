/* xevent.h - waiting for an event, or the end of the program
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

#endif
