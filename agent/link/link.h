/* link.h - the byte stream between this agent and the launcher
 *
 * Two descriptors (which may be one socket), frames in both directions. What
 * goes out is queued in `wire`: control frames at once, output only while less
 * than LINK_OUTPUT_MARK waits there, so that a heartbeat is never behind more
 * than twice that. When the connection breaks the link may go on over another one
 * (link_attach): see resend_queue.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LINK_H
#define MUSTER_AGENT_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "err.h"
#include "frame.h"
#include "resend_queue.h"

#define LINK_OUTPUT_MARK (128u << 10)
/* Of what was sent and not acknowledged. More than the largest credit, so that only
 * very small frames come up against it. */
#define LINK_KEPT_MAX (8u << 20)

struct link_ops {
    /* A frame has come; body is only good until this returns. -1 with err:
     * it breaks the protocol, the link ends. */
    int (*frame)(const struct frame *frame, void *arg, struct error *err);
    /* There is room for more output in wire. */
    void (*room)(void *arg);
    /* The connection has ended. True: another one may come. */
    bool (*cut)(void *arg);
    /* It is over, once; err says why. */
    void (*lost)(const struct error *err, void *arg);
};

struct link {
    int                    in_fd, out_fd;
    struct event          *readable, *writable;
    struct evbuffer       *in;
    struct resend_queue    resend;
    struct evbuffer       *wire;     /* the resend queue's: append here, then call link_flush() */
    int64_t                heard_ns; /* when bytes last came */
    bool                   is_cut;   /* no connection now, but perhaps later */
    bool                   is_lost;
    const struct link_ops *ops;
    void                  *arg;
};

void link_open(struct link *link, struct event_base *base, int in_fd, int out_fd,
               const struct link_ops *ops, void *arg);
void link_close(struct link *link);

/* Write what can be written now, the rest later. */
void link_flush(struct link *link);

/* There is room for output. */
bool link_has_room(const struct link *link);

/* Call ops->room when more can be written, even if nothing waits now. */
void link_ask_room(struct link *link);

/* Count the launcher as heard at that time, by clock_now_ns(). */
void link_heard(struct link *link, int64_t at_ns);

/* Give it up from this side: the lease has run out. */
void link_lose(struct link *link, const char *why);

/* Go on over fd, which becomes the link's: the other end has come back. */
void link_attach(struct link *link, int fd);

/* Close the connection, and standard error too, which sshd waits for as well. */
void link_hang_up(struct link *link);

/* Everything was handed to the kernel and, where the resend queue keeps it, acknowledged. */
bool link_is_flushed(const struct link *link);

#endif
