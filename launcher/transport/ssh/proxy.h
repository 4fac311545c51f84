/* proxy.h - ssh config's ProxyCommand: a process that carries the connection
 *
 * The command runs under /bin/sh in a session of its own (no terminal, so it
 * cannot ask anything), with a socket as its input and output. It ends when
 * that socket is closed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROXY_H
#define MUSTER_PROXY_H

#include <sys/types.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "err.h"

/* Start from { 0 }; does not move while it runs. */
struct proxy {
    pid_t            pid;  /* 0: none */
    struct event    *ears; /* on its stderr, which is read all the time: it must not block there */
    struct evbuffer *said; /* the last of it */
};

/* *fd is the socket, non-blocking, the caller's to close. */
int  proxy_start(struct proxy *proxy, struct event_base *base, const char *command, int *fd,
                 struct error *err);
/* It may take its time to die: see children.h. */
void proxy_stop(struct proxy *proxy);

/* What it last said on stderr, made printable, into text: "" when nothing. */
void proxy_complaint(struct proxy *proxy, char *text, size_t size);

#endif
