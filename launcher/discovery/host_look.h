/* host_look.h - reads the hostfile in a thread, and watches its directory
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_LOOK_H
#define MUSTER_HOST_LOOK_H

#include <event2/event.h>

#include "err.h"

struct host_look;

struct host_look_ops {
    /* Called with the text, borrowed; NULL: the file could not be read, and why says why. */
    void (*read)(const char *text, size_t size, const struct error *why, void *arg);
    /* Something in the hostfile's directory has changed. */
    void (*changed)(void *arg);
};

struct host_look *host_look_new(struct event_base *base, const char *path,
                                const struct host_look_ops *ops, void *arg);
/* If the thread hangs in the file system, its memory is not freed. NULL is fine. */
void              host_look_free(struct host_look *look);

/* Reads the hostfile; ops->read is called once. If a read is in progress, another one
 * follows. */
void host_look_start(struct host_look *look);

#endif
