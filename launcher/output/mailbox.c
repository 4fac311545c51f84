/* mailbox.c - see mailbox.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/mailbox.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "xalloc.h"
#include "xevent.h"

struct credit {
    const struct output_ops *ops;
    void                    *arg;
    struct event            *wake_event;
    int                      wake_fd;

    pthread_mutex_t lock;
    size_t         *given; /* by node: bytes not yet told */
    size_t          nodes;
    int             error[2]; /* [is_stderr], not yet told */
    bool            is_woken;
};

static void wake(struct credit *credit);
static void wake_cb(evutil_socket_t fd, short what, void *arg);

struct credit *credit_new(struct event_base *base, const struct output_ops *ops, void *arg)
{
    struct credit *credit = xcalloc(1, sizeof *credit);

    credit->ops = ops;
    credit->arg = arg;
    pthread_mutex_init(&credit->lock, NULL);
    credit->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (credit->wake_fd < 0)
        xalloc_die();
    credit->wake_event = event_new(base, credit->wake_fd, EV_READ | EV_PERSIST, wake_cb,
                                   credit);
    if (credit->wake_event == NULL)
        xalloc_die();
    xevent_add(credit->wake_event, NULL);
    return credit;
}

void credit_free(struct credit *credit)
{
    if (credit == NULL)
        return;
    event_free(credit->wake_event);
    close(credit->wake_fd);
    pthread_mutex_destroy(&credit->lock);
    free(credit->given);
    free(credit);
}

void credit_add_node(struct credit *credit, size_t node)
{
    pthread_mutex_lock(&credit->lock);
    if (node >= credit->nodes) {
        credit->given = xreallocarray(credit->given, node + 1, sizeof *credit->given);
        memset(credit->given + credit->nodes, 0,
               (node + 1 - credit->nodes) * sizeof *credit->given);
        credit->nodes = node + 1;
    }
    pthread_mutex_unlock(&credit->lock);
}

void credit_give(struct credit *credit, size_t node, size_t bytes)
{
    if (bytes == 0)
        return;
    pthread_mutex_lock(&credit->lock);
    credit->given[node] += bytes;
    wake(credit);
    pthread_mutex_unlock(&credit->lock);
}

void credit_fail(struct credit *credit, bool is_stderr, int error)
{
    pthread_mutex_lock(&credit->lock);
    credit->error[is_stderr] = error;
    wake(credit);
    pthread_mutex_unlock(&credit->lock);
}

void credit_settle(struct credit *credit)
{
    int i, error[2];

    pthread_mutex_lock(&credit->lock);
    memcpy(error, credit->error, sizeof error);
    memset(credit->error, 0, sizeof credit->error);
    pthread_mutex_unlock(&credit->lock);
    for (i = 0; i < 2; i++)
        if (error[i] != 0)
            credit->ops->failed(i, error[i], credit->arg);
}

static void wake(struct credit *credit)
{
    uint64_t one = 1;

    if (!credit->is_woken)
        (void)!write(credit->wake_fd, &one, sizeof one);
    credit->is_woken = true;
}

/* The callbacks run without the lock: they may send, and so come back to us. */
static void wake_cb(evutil_socket_t fd, short what, void *arg)
{
    struct credit *credit = arg;
    uint64_t       count;
    size_t         node, nodes, *given;

    (void)what;
    (void)!read(fd, &count, sizeof count);
    pthread_mutex_lock(&credit->lock);
    nodes = credit->nodes;
    given = credit->given;
    credit->given = xcalloc(nodes, sizeof *given);
    credit->is_woken = false;
    pthread_mutex_unlock(&credit->lock);

    for (node = 0; node < nodes; node++)
        if (given[node] > 0)
            credit->ops->consumed(node, given[node], credit->arg);
    free(given);
    credit_settle(credit);
}
