/* proxy.h - the way to the API server: a `kubectl proxy` of our own
 *
 * kubectl knows every kubeconfig, login and plugin, so that muster does not have to. Its socket is
 * in a private directory: who can connect to it has the user's rights. It ends with this process
 * in any case.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROXY_H
#define MUSTER_PROXY_H

#include <sys/types.h>

#include "err.h"

#define PROXY_START_S 20 /* a login plugin may ask a server far away */

struct proxy {
    pid_t pid; /* 0: none */
    int   out; /* what it says */
    char *directory, *socket;
};

/* context: of the kubeconfig; NULL: the current one. */
int  proxy_start(struct proxy *proxy, const char *context, struct error *err);
/* Drop what it has said: it would wait if nobody read it, and end if nobody could. */
void proxy_drain(const struct proxy *proxy);
void proxy_stop(struct proxy *proxy);

/* The namespace of the context, "default" if it names none; caller frees. NULL: error. */
char *proxy_namespace(const char *context, struct error *err);

#endif
