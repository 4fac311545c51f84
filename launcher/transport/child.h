/* child.h - a program on this machine that carries bytes for us
 *
 * The program is a ProxyCommand or OpenSSH's ssh. It runs in its own session, so that it cannot
 * prompt on a terminal and Ctrl-C does not reach it. Its standard input and output are a
 * socket; it should exit when the socket is closed. Its stderr is read continuously, and the
 * last bytes are stored for error messages.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHILD_H
#define MUSTER_CHILD_H

#include <sys/types.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "err.h"

/* Start from { 0 }. The struct must not move while the child runs. */
struct child {
    pid_t            pid;  /* 0: none */
    struct event    *err_readable; /* the child's stderr */
    struct evbuffer *stderr_text; /* the last bytes */
};

/* Starts argv[0], which is searched for on PATH. *fd is our end of the socket, non-blocking;
 * the caller closes it. Returns -1 with err. */
int child_start(struct child *child, struct event_base *base, char *const argv[], int *fd,
                struct error *err);

/* Sends SIGTERM and forgets the child; children_await() waits until it has exited. Does nothing
 * if the child was never started. */
void child_stop(struct child *child);

/* Writes the end of the child's stderr into text, safe to print; "" if the child wrote
 * nothing. */
void child_stderr(struct child *child, char *text, size_t size);

#endif
