/* proxy.h - the ProxyCommand of ssh config: a process that carries the connection
 *
 * The command runs under /bin/sh in a session of its own (no terminal, so it cannot ask
 * anything), with a socket as its input and output. It ends when that socket is closed.
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
    struct event    *err_readable; /* its stderr: the command must not block there */
    struct evbuffer *stderr_text; /* the last of it */
};

/* *fd is the socket, non-blocking; the caller closes it. */
int  proxy_start(struct proxy *proxy, struct event_base *base, const char *command, int *fd,
                 struct error *err);
/* The process may need some time to end: see children.h. */
void proxy_stop(struct proxy *proxy);

/* The end of its stderr, safe to print, into text: "" if there is none. */
void proxy_stderr(struct proxy *proxy, char *text, size_t size);

#endif
