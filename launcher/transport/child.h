/* child.h - a program on this machine that carries bytes for us
 *
 * A ProxyCommand, or OpenSSH's ssh. It runs in a session of its own, so that it has no terminal
 * to ask on and Ctrl-C does not reach it, with a socket as its standard input and output. Its
 * stderr is read all the time, and the end of it is stored for error messages. It should end
 * when the socket is closed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHILD_H
#define MUSTER_CHILD_H

#include <sys/types.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "err.h"

/* Start from { 0 }; does not move while it runs. */
struct child {
    pid_t            pid;  /* 0: none */
    struct event    *err_readable; /* its stderr */
    struct evbuffer *stderr_text; /* the end of it */
};

/* Start argv[0], which is searched for on PATH. *fd is our end of the socket: non-blocking; the
 * caller closes it. -1 with err. */
int child_start(struct child *child, struct event_base *base, char *const argv[], int *fd,
                struct error *err);

/* Send SIGTERM and forget the child: children_await() waits for its end. Does nothing if it was
 * never started. */
void child_stop(struct child *child);

/* The end of its stderr, safe to print, into text: "" if it wrote nothing. */
void child_stderr(struct child *child, char *text, size_t size);

#endif
