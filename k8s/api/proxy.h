/* proxy.h - the way to the API server: a `kubectl proxy` of our own
 *
 * kubectl handles every kubeconfig, login and plugin, so that muster does not have to. The
 * proxy's socket is in a private directory, because any process that connects to it has the
 * user's rights. The kernel kills the proxy when this process exits.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROXY_H
#define MUSTER_PROXY_H

#include <sys/types.h>

#include "err.h"

#define PROXY_START_S 20 /* a login plugin may ask a distant server */

struct proxy {
    pid_t pid; /* 0: none */
    int   out; /* pipe with kubectl's output */
    char *directory, *socket;
};

/* context: of the kubeconfig; NULL: the current one. */
int  proxy_start(struct proxy *proxy, const char *context, struct error *err);
/* Drops kubectl's output: kubectl would block on a full pipe, and exit on a closed one. */
void proxy_drain(const struct proxy *proxy);
void proxy_stop(struct proxy *proxy);

/* Returns the context's namespace, "default" if it names none; caller frees. NULL: error. */
char *proxy_namespace(const char *context, struct error *err);

#endif
