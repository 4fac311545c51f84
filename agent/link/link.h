/* link.h - the byte stream between this agent and the launcher
 *
 * Two descriptors (which may be the same socket), frames in both directions. Outgoing
 * frames are queued in `wire`: control frames at once, output only while less than
 * LINK_OUTPUT_MARK is waiting there, so that a heartbeat waits behind twice that at most.
 * If the connection breaks, the link may continue over another one (link_attach): see
 * resend_queue.h.
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
/* Bytes that were sent and not acknowledged. More than the largest credit, so only very
 * small frames reach this bound. */
#define LINK_KEPT_MAX (8u << 20)
#define LINK_SOON_MS  4 /* `true` takes less */

struct link_ops {
    /* A frame came; body is valid until this returns. -1 with err: it breaks the protocol,
     * and the link ends. */
    int (*frame)(const struct frame *frame, void *arg, struct error *err);
    /* More output may be queued in wire. */
    void (*room)(void *arg);
    /* The connection ended. True: another one may come. */
    bool (*cut)(void *arg);
    /* The link is lost, for good; called once. err says why. */
    void (*lost)(const struct error *err, void *arg);
};

struct link {
    int                    in_fd, out_fd;
    struct event          *readable, *writable, *soon;
    struct evbuffer       *in;
    struct resend_queue    resend;
    struct evbuffer       *wire;     /* the resend queue's: append here, then call link_flush() */
    bool                   is_cut;   /* no connection now, but one may come */
    bool                   is_lost;
    const struct link_ops *ops;
    void                  *arg;
};

void link_open(struct link *link, struct event_base *base, int in_fd, int out_fd,
               const struct link_ops *ops, void *arg);
void link_close(struct link *link);

/* Write what can be written now, the rest later. */
void link_flush(struct link *link);

/* The same within LINK_SOON_MS, so that what follows by then goes along: each write wakes up two
 * processes of sshd and the launcher. */
void link_flush_soon(struct link *link);

/* True if more output may be queued. */
bool link_has_room(const struct link *link);

/* Call ops->room when more can be written, even if nothing is waiting now. */
void link_ask_room(struct link *link);

/* Give the link up from this side: the lease has run out. */
void link_lose(struct link *link, const char *why);

/* Continue over fd, which becomes the link's: the launcher has come back. */
void link_attach(struct link *link, int fd);

/* Close the connection and standard error, which sshd waits for too. */
void link_hang_up(struct link *link);

/* The kernel has everything and, if the resend queue keeps sent frames, the launcher has
 * acknowledged it. */
bool link_is_flushed(const struct link *link);

#endif
