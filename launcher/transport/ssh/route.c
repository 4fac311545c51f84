/* route.c - see route.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_code.h"
#include "xalloc.h"

static int  start_proxy(struct route *r, struct error *err);
static void resolved(struct addrinfo *found, const struct error *err, void *arg);
static void dialled(int fd, const struct error *err, void *arg);

void route_init(struct route *r, struct event_base *base, const struct ssh_config *config,
                int segment_bytes, void (*news)(void *arg), void *arg)
{
    *r = (struct route){ .base = base, .config = config, .segment_bytes = segment_bytes,
                         .news = news, .arg = arg, .fd = -1 };
}

void route_clear(struct route *r)
{
    route_hang_up(r);
    resolve_free(r->resolve);
    r->resolve = NULL;
    if (r->addresses != NULL)
        freeaddrinfo(r->addresses);
    r->addresses = NULL;
}

void route_hang_up(struct route *r)
{
    dial_free(r->dial);
    r->dial = NULL;
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    child_stop(&r->proxy);
}

bool route_is_tcp(const struct route *r)
{
    return r->config->proxy_command == NULL;
}

int route_resolve(struct route *r, struct conn_failure *why)
{
    struct error err;

    if (!route_is_tcp(r) || r->addresses != NULL)
        return 1;
    if (r->has_failed) {
        conn_failure_set(why, EXIT_UNREACHABLE, "%s", r->err.text);
        return conn_failure_hint(why, "check the hostfile, or give the node an address: addr=");
    }
    if (r->resolve == NULL)
        r->resolve = resolve_start(r->base, r->config->hostname, r->config->port,
                                   r->config->family, resolved, r, &err);
    if (r->resolve == NULL)
        return conn_failure_set(why, EXIT_INTERNAL, "%s", err.text);
    return 0;
}

int route_connect(struct route *r, struct conn_failure *why)
{
    struct error err;

    if (r->fd >= 0)
        return 1;
    if (r->has_failed) {
        conn_failure_set(why, EXIT_UNREACHABLE, "%s", r->err.text);
        if (strstr(r->err.text, strerror(ECONNREFUSED)) != NULL)
            conn_failure_hint(why, "is sshd running there, on port %d?", r->config->port);
        return -1;
    }
    if (!route_is_tcp(r)) {
        if (start_proxy(r, &err) < 0)
            return conn_failure_set(why, EXIT_INTERNAL, "%s", err.text);
        return 1;
    }
    if (r->dial == NULL)
        r->dial = dial_start(r->base, r->addresses, r->segment_bytes, dialled, r);
    return 0;
}

/* Starts the proxy command with /bin/sh, as ssh does. */
static int start_proxy(struct route *r, struct error *err)
{
    char *script = xasprintf("exec %s", r->config->proxy_command);
    char *argv[] = { (char *)"/bin/sh", (char *)"-c", script, NULL };
    int   rc = child_start(&r->proxy, r->base, argv, &r->fd, err);

    free(script);
    return rc;
}

void route_late(const struct route *r, double limit_s, struct conn_failure *why)
{
    struct error tried = { "" };

    if (r->dial == NULL) {
        conn_failure_set(why, EXIT_UNREACHABLE, "the name service did not answer about %s "
                         "within %g s", r->config->hostname, limit_s);
        return;
    }
    dial_describe(r->dial, &tried);
    conn_failure_set(why, EXIT_UNREACHABLE, "%s within %g s", tried.text, limit_s);
    conn_failure_hint(why, "is the node up, and does a firewall let port %d through?",
                      r->config->port);
}

static void resolved(struct addrinfo *found, const struct error *err, void *arg)
{
    struct route *r = arg;

    resolve_free(r->resolve);
    r->resolve = NULL;
    r->addresses = found;
    r->has_failed = found == NULL;
    if (r->has_failed)
        r->err = *err;
    r->news(r->arg);
}

static void dialled(int fd, const struct error *err, void *arg)
{
    struct route *r = arg;

    dial_free(r->dial);
    r->dial = NULL;
    r->fd = fd;
    r->has_failed = fd < 0;
    if (r->has_failed)
        r->err = *err;
    r->news(r->arg);
}
