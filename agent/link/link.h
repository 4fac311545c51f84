/* link.h - the byte stream between this agent and the launcher
 *
 * The link has two descriptors (which may be the same socket) and carries frames in both
 * directions. Outgoing frames are queued in `wire`: control frames at once, output only
 * while less than LINK_OUTPUT_MARK is queued there, so that a heartbeat waits behind at most
 * twice that. If the connection breaks, the link may continue over another one
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
/* Limit for bytes that were sent but not acknowledged. It is more than the largest credit, so
 * only very small frames reach it. */
#define LINK_KEPT_MAX (8u << 20)
#define LINK_SOON_MS  4 /* `true` runs in less time */

struct link_ops {
    /* A frame has arrived; body is valid until this returns. -1 with err: the frame breaks the
     * protocol, and the link is lost. */
    int (*frame)(const struct frame *frame, void *arg, struct error *err);
    /* More output may be queued in wire. */
    void (*room)(void *arg);
    /* The connection broke. True: there may be another one. */
    bool (*cut)(void *arg);
    /* The link is lost for good; called once. err says why. */
    void (*lost)(const struct error *err, void *arg);
};

struct link {
    int                    in_fd, out_fd;
    struct event          *readable, *writable, *soon;
    struct evbuffer       *in;
    struct resend_queue    resend;
    struct evbuffer       *wire;     /* of the resend queue: append, then call link_flush() */
    bool                   is_cut;   /* no connection now, but there may be another one */
    bool                   is_lost;
    const struct link_ops *ops;
    void                  *arg;
};

void link_open(struct link *link, struct event_base *base, int in_fd, int out_fd,
               const struct link_ops *ops, void *arg);
void link_close(struct link *link);

/* Writes what can be written now, and the rest later. */
void link_flush(struct link *link);

/* Flushes within LINK_SOON_MS, together with all that is queued by then: each write wakes up
 * two processes of sshd and the launcher. */
void link_flush_soon(struct link *link);

/* True if more output may be queued. */
bool link_has_room(const struct link *link);

/* Calls ops->room when more can be written, even if nothing is queued now. */
void link_ask_room(struct link *link);

/* Gives the link up from this side: the lease has run out. */
void link_lose(struct link *link, const char *why);

/* Continues over fd, which the link then owns: the launcher has reconnected. */
void link_attach(struct link *link, int fd);

/* Closes the connection and standard error, which sshd waits for too. */
void link_hang_up(struct link *link);

/* True if the kernel has everything and, if the resend queue keeps sent frames, the launcher
 * has acknowledged everything. */
bool link_is_flushed(const struct link *link);

#endif
