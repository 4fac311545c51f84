/* resend_queue.h - a stream of frames that outlives its connection
 *
 * Each end counts the bytes of the frames that it sends and receives, except HELLO. Sent bytes
 * stay in this queue until the other end acknowledges them (ACK). After a lost connection, each
 * end tells the other over a new one how many bytes it has received, and both continue from
 * there: no byte is lost or received twice.
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

/* An ACK is due after this much: often enough that the queue stays short, rarely enough that it
 * costs nothing. */
#define RESEND_ACK_BYTES  (256u << 10)
#define RESEND_ACK_FRAMES 64

struct resend_queue {
    struct evbuffer *bytes; /* append frames here; the sent ones come first */
    uint64_t         begin; /* position of the first byte in the stream */
    size_t           sent;  /* how many bytes the connection has taken */
    uint64_t         end_before; /* how far the stream got on earlier connections */
    bool             keeps; /* false: drop bytes when they are sent */
    uint64_t         taken; /* position in the stream of the other end */
    uint64_t         told;  /* ... the position in our last ACK */
    unsigned         untold_frames;
};

void resend_queue_init(struct resend_queue *queue);
void resend_queue_clear(struct resend_queue *queue);

/* Leaves the bytes that are in the queue now out of the count. Call this before setting
 * keeps. */
void resend_queue_count_from_here(struct resend_queue *queue);

size_t resend_queue_unsent(const struct resend_queue *queue);
/* Returns the number of all bytes in memory, sent and unsent. */
size_t resend_queue_kept(const struct resend_queue *queue);

/* Writes unsent bytes, as many as fd takes now. Returns their number, or -1 with errno. */
ssize_t resend_queue_write(struct resend_queue *queue, int fd);
/* Appends the unsent bytes to out, which will send them. */
void resend_queue_send(struct resend_queue *queue, struct evbuffer *out);

/* Counts a received frame with a body of this size. */
void resend_queue_take(struct resend_queue *queue, size_t body_size);
bool resend_queue_owes_ack(const struct resend_queue *queue);
/* Appends an ACK frame if there is anything new to acknowledge. */
void resend_queue_put_ack(struct resend_queue *queue, uint32_t generation);

/* Handles a received ACK: drops the bytes that it covers. Returns -1 if it is malformed, or
 * acknowledges bytes that were never sent. */
int resend_queue_take_ack(struct resend_queue *queue, const struct frame *frame, struct error *err);

/* Continues from position: the other end has our stream up to there, and no byte after it.
 * *again: number of bytes that will be sent again. Returns -1 if position was never sent, or
 * was passed by an earlier ACK. */
int resend_queue_rewind(struct resend_queue *queue, uint64_t position, size_t *again,
                        struct error *err);

#endif
