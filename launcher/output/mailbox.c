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

struct mailbox {
    const struct output_ops *ops;
    void                    *arg;
    struct event            *wake_event;
    int                      wake_fd;

    pthread_mutex_t lock;
    size_t         *given; /* by node: bytes not yet delivered */
    size_t          nodes;
    int             error[2]; /* [is_stderr], not yet delivered */
    bool            is_woken;
};

static void wake(struct mailbox *mailbox);
static void wake_cb(evutil_socket_t fd, short what, void *arg);

struct mailbox *mailbox_new(struct event_base *base, const struct output_ops *ops, void *arg)
{
    struct mailbox *mailbox = xcalloc(1, sizeof *mailbox);

    mailbox->ops = ops;
    mailbox->arg = arg;
    pthread_mutex_init(&mailbox->lock, NULL);
    mailbox->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mailbox->wake_fd < 0)
        xalloc_die();
    mailbox->wake_event = event_new(base, mailbox->wake_fd, EV_READ | EV_PERSIST, wake_cb,
                                   mailbox);
    if (mailbox->wake_event == NULL)
        xalloc_die();
    xevent_add(mailbox->wake_event, NULL);
    return mailbox;
}

void mailbox_free(struct mailbox *mailbox)
{
    if (mailbox == NULL)
        return;
    event_free(mailbox->wake_event);
    close(mailbox->wake_fd);
    pthread_mutex_destroy(&mailbox->lock);
    free(mailbox->given);
    free(mailbox);
}

void mailbox_add_node(struct mailbox *mailbox, size_t node)
{
    pthread_mutex_lock(&mailbox->lock);
    if (node >= mailbox->nodes) {
        mailbox->given = xreallocarray(mailbox->given, node + 1, sizeof *mailbox->given);
        memset(mailbox->given + mailbox->nodes, 0,
               (node + 1 - mailbox->nodes) * sizeof *mailbox->given);
        mailbox->nodes = node + 1;
    }
    pthread_mutex_unlock(&mailbox->lock);
}

void mailbox_give(struct mailbox *mailbox, size_t node, size_t bytes)
{
    if (bytes == 0)
        return;
    pthread_mutex_lock(&mailbox->lock);
    mailbox->given[node] += bytes;
    wake(mailbox);
    pthread_mutex_unlock(&mailbox->lock);
}

void mailbox_fail(struct mailbox *mailbox, bool is_stderr, int error)
{
    pthread_mutex_lock(&mailbox->lock);
    mailbox->error[is_stderr] = error;
    wake(mailbox);
    pthread_mutex_unlock(&mailbox->lock);
}

void mailbox_settle(struct mailbox *mailbox)
{
    int i, error[2];

    pthread_mutex_lock(&mailbox->lock);
    memcpy(error, mailbox->error, sizeof error);
    memset(mailbox->error, 0, sizeof mailbox->error);
    pthread_mutex_unlock(&mailbox->lock);
    for (i = 0; i < 2; i++)
        if (error[i] != 0)
            mailbox->ops->failed(i, error[i], mailbox->arg);
}

void mailbox_wake(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    wake(mailbox);
    pthread_mutex_unlock(&mailbox->lock);
}

static void wake(struct mailbox *mailbox)
{
    uint64_t one = 1;

    if (!mailbox->is_woken)
        (void)!write(mailbox->wake_fd, &one, sizeof one);
    mailbox->is_woken = true;
}

/* The callbacks run without the lock: they may send, and so call the mailbox. */
static void wake_cb(evutil_socket_t fd, short what, void *arg)
{
    struct mailbox *mailbox = arg;
    uint64_t        count;
    size_t          node, nodes, *given;

    (void)what;
    (void)!read(fd, &count, sizeof count);
    pthread_mutex_lock(&mailbox->lock);
    nodes = mailbox->nodes;
    given = mailbox->given;
    mailbox->given = xcalloc(nodes, sizeof *given);
    mailbox->is_woken = false;
    pthread_mutex_unlock(&mailbox->lock);

    for (node = 0; node < nodes; node++)
        if (given[node] > 0)
            mailbox->ops->consumed(node, given[node], mailbox->arg);
    free(given);
    mailbox_settle(mailbox);
}
