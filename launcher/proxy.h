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

#include "err.h"

struct proxy {
    pid_t pid;    /* 0: none */
    int   err_fd; /* its stderr; non-blocking */
};

/* *fd is the socket, non-blocking, the caller's to close. */
int  proxy_start(struct proxy *proxy, const char *command, int *fd, struct error *err);
/* It may take its time to die: see children.h. */
void proxy_stop(struct proxy *proxy);

/* What it last said on stderr, made printable, into text: "" when nothing. */
void proxy_complaint(struct proxy *proxy, char *text, size_t size);

#endif
