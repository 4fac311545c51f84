/* host_look.h - read the hostfile in a thread, and watch its directory
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_LOOK_H
#define MUSTER_HOST_LOOK_H

#include <event2/event.h>

#include "err.h"

struct host_look;

struct host_look_ops {
    /* The text, borrowed; NULL: it could not be read, as why says. */
    void (*read)(const char *text, size_t size, const struct error *why, void *arg);
    /* Something in its directory has changed. */
    void (*changed)(void *arg);
};

struct host_look *host_look_new(struct event_base *base, const char *path,
                                const struct host_look_ops *ops, void *arg);
/* A thread that hangs in the file system keeps what it works on. NULL is fine. */
void              host_look_free(struct host_look *look);

/* Read it: ops->read is called once. If it is being read, it is read once more. */
void host_look_start(struct host_look *look);

#endif
