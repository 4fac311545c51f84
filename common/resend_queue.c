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

static int      check(const struct replay *replay, uint64_t position, struct error *err);
static uint64_t furthest(const struct replay *replay);
static void     forget(struct replay *replay, size_t size);

void replay_init(struct replay *replay)
{
    *replay = (struct replay){ .bytes = evbuffer_new() };
    if (replay->bytes == NULL)
        xalloc_die();
}

void replay_clear(struct replay *replay)
{
    if (replay->bytes != NULL)
        evbuffer_free(replay->bytes);
    *replay = (struct replay){ 0 };
}

/* Modulo 2^64: begin is 0 when they have gone. */
void replay_count_from_here(struct replay *replay)
{
    replay->begin = 0 - (uint64_t)evbuffer_get_length(replay->bytes);
}

size_t replay_unsent(const struct replay *replay)
{
    return evbuffer_get_length(replay->bytes) - replay->sent;
}

size_t replay_kept(const struct replay *replay)
{
    return evbuffer_get_length(replay->bytes);
}

ssize_t replay_write(struct replay *replay, int fd)
{
    struct evbuffer_iovec part[WRITE_PARTS];
    struct iovec          from[WRITE_PARTS];
    struct evbuffer_ptr   at;
    ssize_t               done;
    int                   count, i;

    if (replay_unsent(replay) == 0)
        return 0;
    evbuffer_ptr_set(replay->bytes, &at, replay->sent, EVBUFFER_PTR_SET);
    count = evbuffer_peek(replay->bytes, -1, &at, part, WRITE_PARTS);
    count = count > WRITE_PARTS ? WRITE_PARTS : count;
    for (i = 0; i < count; i++)
        from[i] = (struct iovec){ .iov_base = part[i].iov_base, .iov_len = part[i].iov_len };
    do
        done = writev(fd, from, count);
    while (done < 0 && errno == EINTR);
    if (done > 0)
        replay->sent += (size_t)done;
    if (!replay->keeps)
        forget(replay, replay->sent);
    return done;
}

void replay_send(struct replay *replay, struct evbuffer *out)
{
    struct evbuffer_ptr   at;
    struct evbuffer_iovec part;

    if (!replay->keeps) {
        forget(replay, replay->sent);
        replay->begin += evbuffer_get_length(replay->bytes);
        if (evbuffer_add_buffer(out, replay->bytes) < 0)
            xalloc_die();
        return;
    }
    while (replay_unsent(replay) > 0) {
        evbuffer_ptr_set(replay->bytes, &at, replay->sent, EVBUFFER_PTR_SET);
        evbuffer_peek(replay->bytes, -1, &at, &part, 1);
        if (evbuffer_add(out, part.iov_base, part.iov_len) < 0)
            xalloc_die();
        replay->sent += part.iov_len;
    }
}

void replay_take(struct replay *replay, size_t body_size)
{
    replay->taken += FRAME_HEADER_BYTES + body_size;
    replay->untold_frames++;
}

bool replay_owes_ack(const struct replay *replay)
{
    return replay->keeps && (replay->taken - replay->told >= REPLAY_ACK_BYTES ||
                             replay->untold_frames >= REPLAY_ACK_FRAMES);
}

void replay_put_ack(struct replay *replay, uint32_t generation)
{
    unsigned char body[8];
    struct frame  ack = { .type = FRAME_ACK, .generation = generation, .body = body,
                          .size = sizeof body };

    if (!replay->keeps || replay->taken == replay->told)
        return;
    put_u64(body, replay->taken);
    frame_put(replay->bytes, &ack);
    replay->told = replay->taken;
    replay->untold_frames = 0;
}

/* One that comes again with the rest of a stream says what is known already. */
int replay_take_ack(struct replay *replay, const struct frame *frame, struct error *err)
{
    if (frame->size != 8)
        return err_set(err, "ACK frame of %zu bytes", frame->size);
    if (get_u64(frame->body) < replay->begin)
        return 0;
    if (check(replay, get_u64(frame->body), err) < 0)
        return -1;
    forget(replay, (size_t)(get_u64(frame->body) - replay->begin));
    return 0;
}

int replay_rewind(struct replay *replay, uint64_t position, size_t *again, struct error *err)
{
    if (check(replay, position, err) < 0)
        return -1;
    replay->end_before = furthest(replay);
    *again = (size_t)(replay->end_before - position);
    forget(replay, (size_t)(position - replay->begin));
    replay->sent = 0;
    return 0;
}

static int check(const struct replay *replay, uint64_t position, struct error *err)
{
    if (position >= replay->begin && position <= furthest(replay))
        return 0;
    return err_set(err, "%" PRIu64 " bytes of the stream are said to have come, not from %" PRIu64
                   " to %" PRIu64, position, replay->begin, furthest(replay));
}

/* What an earlier connection was given may come late, after a rewind that failed. */
static uint64_t furthest(const struct replay *replay)
{
    uint64_t end = replay->begin + replay->sent;

    return end > replay->end_before ? end : replay->end_before;
}

/* size bytes, which were sent, if not on this connection. */
static void forget(struct replay *replay, size_t size)
{
    evbuffer_drain(replay->bytes, size);
    replay->begin += size;
    replay->sent -= size < replay->sent ? size : replay->sent;
}
