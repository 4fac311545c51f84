/* resolve.c - see resolve.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/resolve.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "xalloc.h"
#include "xevent.h"

/* Name service modules run on this stack; the ones of nscd and sssd need some room. */
#define STACK_BYTES (512 * 1024)

struct resolve {
    char        *host;
    char         port[8];
    int          family;
    int          wake_fd; /* eventfd: the answer has arrived */
    atomic_bool  is_left; /* thread or loop is done with this struct: the other one frees it */

    struct addrinfo *found;
    int              error; /* of getaddrinfo() */
    int              system_errno;

    struct event *answered;
    resolve_f    *done;
    void         *arg;
};

static void *resolve_thread(void *arg);
static void  look_up(struct resolve *r, int flags);
static void  answered_cb(evutil_socket_t fd, short what, void *arg);
static void  leave(struct resolve *r);

struct resolve *resolve_start(struct event_base *base, const char *host, int port, int family,
                              resolve_f *done, void *arg, struct error *err)
{
    struct resolve *r = xcalloc(1, sizeof *r);
    pthread_attr_t  attr;
    pthread_t       thread;
    int             rc;

    r->host = xstrdup(host);
    snprintf(r->port, sizeof r->port, "%d", port);
    r->family = family;
    r->done = done;
    r->arg = arg;
    r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->wake_fd < 0) {
        err_set(err, "cannot look up the name: no file descriptor: %s", strerror(errno));
        atomic_store(&r->is_left, true);
        leave(r);
        return NULL;
    }
    r->answered = event_new(base, r->wake_fd, EV_READ, answered_cb, r);
    xevent_add(r->answered, NULL);

    look_up(r, AI_NUMERICHOST);
    if (r->error == 0) {
        atomic_store(&r->is_left, true);
        event_active(r->answered, EV_READ, 0);
        return r;
    }
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    rc = pthread_create(&thread, &attr, resolve_thread, r);
    pthread_attr_destroy(&attr);
    if (rc != 0) {
        err_set(err, "cannot look up the name: cannot start a thread: %s", strerror(rc));
        atomic_store(&r->is_left, true);
        resolve_free(r);
        return NULL;
    }
    return r;
}

void resolve_free(struct resolve *r)
{
    if (r == NULL)
        return;
    if (r->answered != NULL)
        event_free(r->answered);
    r->answered = NULL;
    leave(r);
}

static void *resolve_thread(void *arg)
{
    struct resolve *r = arg;
    uint64_t        one = 1;

    look_up(r, 0);
    if (write(r->wake_fd, &one, sizeof one) < 0)
        r->error = EAI_SYSTEM; /* cannot happen: the counter is 0 */
    leave(r);
    return NULL;
}

static void look_up(struct resolve *r, int flags)
{
    struct addrinfo hints = { .ai_family = r->family, .ai_socktype = SOCK_STREAM,
                              .ai_flags = flags };

    r->error = getaddrinfo(r->host, r->port, &hints, &r->found);
    r->system_errno = errno;
}

static void answered_cb(evutil_socket_t fd, short what, void *arg)
{
    struct resolve  *r = arg;
    struct addrinfo *found = r->found;
    struct error     err = { "" };

    (void)fd;
    (void)what;
    r->found = NULL;
    if (found == NULL)
        err_set(&err, "unknown name: %s: %s", r->host,
                r->error == EAI_SYSTEM ? strerror(r->system_errno) : gai_strerror(r->error));
    r->done(found, &err, r->arg); /* last: it may free r */
}

/* Thread and loop both call this; the second one cleans up. */
static void leave(struct resolve *r)
{
    if (!atomic_exchange(&r->is_left, true))
        return;
    if (r->found != NULL)
        freeaddrinfo(r->found);
    if (r->wake_fd >= 0)
        close(r->wake_fd);
    free(r->host);
    free(r);
}
