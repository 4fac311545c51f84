/* resend_queue.c - see resend_queue.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "resend_queue.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/uio.h>

#include "xalloc.h"

#define WRITE_PARTS 32 /* pieces of the buffer in one writev() */

static int      check(const struct resend_queue *queue, uint64_t position, struct error *err);
static uint64_t furthest(const struct resend_queue *queue);
static void     forget(struct resend_queue *queue, size_t size);

void resend_queue_init(struct resend_queue *queue)
{
    *queue = (struct resend_queue){ .bytes = evbuffer_new() };
    if (queue->bytes == NULL)
        xalloc_die();
}

void resend_queue_clear(struct resend_queue *queue)
{
    if (queue->bytes != NULL)
        evbuffer_free(queue->bytes);
    *queue = (struct resend_queue){ 0 };
}

/* begin counts modulo 2^64: it is 0 when these bytes are gone. */
void resend_queue_count_from_here(struct resend_queue *queue)
{
    queue->begin = 0 - (uint64_t)evbuffer_get_length(queue->bytes);
}

size_t resend_queue_unsent(const struct resend_queue *queue)
{
    return evbuffer_get_length(queue->bytes) - queue->sent;
}

size_t resend_queue_kept(const struct resend_queue *queue)
{
    return evbuffer_get_length(queue->bytes);
}

ssize_t resend_queue_write(struct resend_queue *queue, int fd)
{
    struct evbuffer_iovec part[WRITE_PARTS];
    struct iovec          from[WRITE_PARTS];
    struct evbuffer_ptr   at;
    ssize_t               done;
    int                   count, i;

    if (resend_queue_unsent(queue) == 0)
        return 0;
    evbuffer_ptr_set(queue->bytes, &at, queue->sent, EVBUFFER_PTR_SET);
    count = evbuffer_peek(queue->bytes, -1, &at, part, WRITE_PARTS);
    count = count > WRITE_PARTS ? WRITE_PARTS : count;
    for (i = 0; i < count; i++)
        from[i] = (struct iovec){ .iov_base = part[i].iov_base, .iov_len = part[i].iov_len };
    do
        done = writev(fd, from, count);
    while (done < 0 && errno == EINTR);
    if (done > 0)
        queue->sent += (size_t)done;
    if (!queue->keeps)
        forget(queue, queue->sent);
    return done;
}

void resend_queue_send(struct resend_queue *queue, struct evbuffer *out)
{
    struct evbuffer_ptr   at;
    struct evbuffer_iovec part;

    if (!queue->keeps) {
        forget(queue, queue->sent);
        queue->begin += evbuffer_get_length(queue->bytes);
        if (evbuffer_add_buffer(out, queue->bytes) < 0)
            xalloc_die();
        return;
    }
    while (resend_queue_unsent(queue) > 0) {
        evbuffer_ptr_set(queue->bytes, &at, queue->sent, EVBUFFER_PTR_SET);
        evbuffer_peek(queue->bytes, -1, &at, &part, 1);
        if (evbuffer_add(out, part.iov_base, part.iov_len) < 0)
            xalloc_die();
        queue->sent += part.iov_len;
    }
}

void resend_queue_take(struct resend_queue *queue, size_t body_size)
{
    queue->taken += FRAME_HEADER_BYTES + body_size;
    queue->untold_frames++;
}

bool resend_queue_owes_ack(const struct resend_queue *queue)
{
    return queue->keeps && (queue->taken - queue->told >= RESEND_ACK_BYTES ||
                             queue->untold_frames >= RESEND_ACK_FRAMES);
}

void resend_queue_put_ack(struct resend_queue *queue, uint32_t generation)
{
    unsigned char body[8];
    struct frame  ack = { .type = FRAME_ACK, .generation = generation, .body = body,
                          .size = sizeof body };

    if (!queue->keeps || queue->taken == queue->told)
        return;
    put_u64(body, queue->taken);
    frame_put(queue->bytes, &ack);
    queue->told = queue->taken;
    queue->untold_frames = 0;
}

/* An ACK that is sent again with the rest of a stream acknowledges nothing new. */
int resend_queue_take_ack(struct resend_queue *queue, const struct frame *frame, struct error *err)
{
    if (frame->size != 8)
        return err_set(err, "ACK frame of %zu bytes", frame->size);
    if (get_u64(frame->body) < queue->begin)
        return 0;
    if (check(queue, get_u64(frame->body), err) < 0)
        return -1;
    forget(queue, (size_t)(get_u64(frame->body) - queue->begin));
    return 0;
}

int resend_queue_rewind(struct resend_queue *queue, uint64_t position, size_t *again,
                        struct error *err)
{
    if (check(queue, position, err) < 0)
        return -1;
    queue->end_before = furthest(queue);
    *again = (size_t)(queue->end_before - position);
    forget(queue, (size_t)(position - queue->begin));
    queue->sent = 0;
    return 0;
}

static int check(const struct resend_queue *queue, uint64_t position, struct error *err)
{
    if (position >= queue->begin && position <= furthest(queue))
        return 0;
    return err_set(err, "position %" PRIu64 " is not in the stream from %" PRIu64 " to %" PRIu64,
                   position, queue->begin, furthest(queue));
}

/* Returns the last position that the other end can have: bytes that an earlier connection took
 * may arrive late, after a rewind that failed. */
static uint64_t furthest(const struct resend_queue *queue)
{
    uint64_t end = queue->begin + queue->sent;

    return end > queue->end_before ? end : queue->end_before;
}

/* Drops size bytes, which were sent, perhaps over an earlier connection. */
static void forget(struct resend_queue *queue, size_t size)
{
    evbuffer_drain(queue->bytes, size);
    queue->begin += size;
    queue->sent -= size < queue->sent ? size : queue->sent;
}
