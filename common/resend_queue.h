/* resend_queue.h - a stream of frames that outlives its connection
 *
 * Each end counts the bytes of the frames that it sends and of those that it takes,
 * all but HELLO. What was sent stays here until the other end says that it
 * has it (ACK). When the connection is lost and another one made, each tells the other
 * how far it got, and goes on from there: nothing is lost, nothing comes twice.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RESEND_QUEUE_H
#define MUSTER_RESEND_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/buffer.h>

#include "err.h"
#include "frame.h"

/* An ACK is due after so much: often enough that little is kept, seldom enough that
 * nobody notices. */
#define RESEND_ACK_BYTES  (256u << 10)
#define RESEND_ACK_FRAMES 64

struct resend_queue {
    struct evbuffer *bytes; /* append frames here: the sent ones are in front */
    uint64_t         begin; /* where in the stream the first of them is */
    size_t           sent;  /* how many were given to the connection */
    uint64_t         end_before; /* how far the stream went on earlier ones */
    bool             keeps; /* false: they are forgotten as they are sent */
    uint64_t         taken; /* of the other end's stream */
    uint64_t         told;  /* ... as far as it knows by our ACKs */
    unsigned         untold_frames;
};

void resend_queue_init(struct resend_queue *queue);
void resend_queue_clear(struct resend_queue *queue);

/* What is in bytes now is not counted, when it has been sent. Before keeps is set. */
void resend_queue_count_from_here(struct resend_queue *queue);

size_t resend_queue_unsent(const struct resend_queue *queue);
/* Sent and unsent together: what is held in memory. */
size_t resend_queue_kept(const struct resend_queue *queue);

/* Write what is unsent, as far as fd takes it now: the bytes written, or -1 with errno. */
ssize_t resend_queue_write(struct resend_queue *queue, int fd);
/* Append what is unsent to out, which will send it. */
void resend_queue_send(struct resend_queue *queue, struct evbuffer *out);

/* A frame of the other end with a body of that size was taken. */
void resend_queue_take(struct resend_queue *queue, size_t body_size);
bool resend_queue_owes_ack(const struct resend_queue *queue);
/* Append an ACK frame, if there is anything that it could say. */
void resend_queue_put_ack(struct resend_queue *queue, uint32_t generation);

/* An ACK has come: forget what it covers. -1: it is none, or speaks of what was never
 * sent. */
int resend_queue_take_ack(struct resend_queue *queue, const struct frame *frame, struct error *err);

/* The other end has our stream up to position, and nothing behind it: go on from
 * there. *again: bytes that were sent before. -1: there was never so much, or it was
 * acknowledged long ago. */
int resend_queue_rewind(struct resend_queue *queue, uint64_t position, size_t *again, struct error *err);

#endif
