/* test_resend_queue.c - counting, keeping and sending again
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "resend_queue.h"

#define FRAME(body_size) (FRAME_HEADER_BYTES + (size_t)(body_size))

/* An OUTPUT frame of that many bytes, all of them mark. */
static void put(struct resend_queue *queue, char mark, size_t size)
{
    unsigned char body[512];
    struct frame  frame = { .type = FRAME_OUTPUT, .body = body, .size = size };

    memset(body, mark, size);
    frame_put(queue->bytes, &frame);
}

static int ack(struct resend_queue *queue, uint64_t position)
{
    unsigned char body[8];
    struct frame  frame = { .type = FRAME_ACK, .body = body, .size = sizeof body };
    struct error  err;

    put_u64(body, position);
    return resend_queue_take_ack(queue, &frame, &err);
}

/* The marks of the frames in out, which is then empty. */
static const char *marks(struct evbuffer *out)
{
    static char  seen[64];
    struct frame frame;
    struct error err;
    size_t       count = 0;

    while (frame_peek(out, &frame, &err) > 0 && count < sizeof seen - 1) {
        seen[count++] = (char)(frame.type == FRAME_ACK ? '!' : frame.body[0]);
        frame_drop(out, &frame);
    }
    seen[count] = '\0';
    return seen;
}

static const char *sent(struct resend_queue *queue)
{
    static struct evbuffer *out;

    out = out != NULL ? out : evbuffer_new();
    resend_queue_send(queue, out);
    return marks(out);
}

/* "abc" was sent, in frames with bodies of 1, 2 and 3 bytes, and d is yet to be. */
static void init_sent(struct resend_queue *queue)
{
    resend_queue_init(queue);
    queue->keeps = true;
    put(queue, 'a', 1);
    put(queue, 'b', 2);
    put(queue, 'c', 3);
    assert_string_equal(sent(queue), "abc");
    put(queue, 'd', 4);
}

static void test_forgets_what_it_sends_until_told_to_keep(void **state)
{
    struct resend_queue queue;

    (void)state;
    resend_queue_init(&queue);
    put(&queue, 'h', 33);
    resend_queue_count_from_here(&queue);
    put(&queue, 'a', 10);
    assert_string_equal(sent(&queue), "ha");
    assert_int_equal(resend_queue_kept(&queue), 0);
    queue.keeps = true;
    put(&queue, 'b', 10);
    assert_string_equal(sent(&queue), "b");
    assert_int_equal(resend_queue_kept(&queue), FRAME(10));
    assert_int_equal(resend_queue_unsent(&queue), 0);
    assert_int_equal(ack(&queue, 2 * FRAME(10)), 0); /* a was counted all the same */
    assert_int_equal(resend_queue_kept(&queue), 0);
    resend_queue_clear(&queue);
}

static void test_sends_again_what_the_other_end_has_not(void **state)
{
    struct resend_queue queue;
    struct error        err;
    size_t              again;

    (void)state;
    init_sent(&queue);
    assert_int_equal(resend_queue_rewind(&queue, FRAME(1), &again, &err), 0);
    assert_int_equal(again, FRAME(2) + FRAME(3));
    put(&queue, 'e', 5);
    assert_string_equal(sent(&queue), "bcde");
    /* And once more, after an ACK; then there is nothing to repeat. */
    assert_int_equal(ack(&queue, FRAME(1) + FRAME(2)), 0);
    assert_int_equal(resend_queue_rewind(&queue, FRAME(1) + FRAME(2), &again, &err), 0);
    assert_string_equal(sent(&queue), "cde");
    assert_int_equal(resend_queue_rewind(&queue,
                                         FRAME(1) + FRAME(2) + FRAME(3) + FRAME(4) + FRAME(5),
                                   &again, &err), 0);
    assert_int_equal(again, 0);
    assert_string_equal(sent(&queue), "");
    assert_int_equal(resend_queue_kept(&queue), 0);
    resend_queue_clear(&queue);
}

/* A connection was made, and broke at once; meanwhile the one before it has brought more. */
static void test_what_was_on_its_way_may_come_late(void **state)
{
    struct resend_queue queue;
    struct error        err;
    size_t              again;

    (void)state;
    init_sent(&queue);
    assert_int_equal(resend_queue_rewind(&queue, FRAME(1), &again, &err), 0);
    assert_int_equal(resend_queue_rewind(&queue, FRAME(1) + FRAME(2), &again, &err), 0);
    assert_int_equal(again, FRAME(3));
    assert_int_equal(ack(&queue, FRAME(1) + FRAME(2) + FRAME(3) + 1), -1);
    assert_int_equal(ack(&queue, FRAME(1) + FRAME(2) + FRAME(3)), 0);
    assert_string_equal(sent(&queue), "d");
    assert_int_equal(resend_queue_unsent(&queue), 0);
    resend_queue_clear(&queue);
}

static void test_refuses_positions_that_cannot_be(void **state)
{
    struct resend_queue queue;
    struct error        err;
    size_t              again;

    (void)state;
    resend_queue_init(&queue);
    queue.keeps = true;
    put(&queue, 'a', 1);
    put(&queue, 'b', 1);
    assert_string_equal(sent(&queue), "ab");
    put(&queue, 'c', 1); /* not yet sent */
    assert_int_equal(ack(&queue, 2 * FRAME(1) + 1), -1);
    assert_int_equal(ack(&queue, UINT64_MAX), -1);
    assert_int_equal(resend_queue_rewind(&queue, 3 * FRAME(1), &again, &err), -1);
    assert_int_equal(ack(&queue, FRAME(1)), 0);
    assert_int_equal(resend_queue_rewind(&queue, 0, &again, &err), -1); /* that is gone */
    assert_non_null(strstr(err.text, "not in the stream from 17 to 34"));
    /* An ACK of before is repeated with the stream that it is in: no harm. */
    assert_int_equal(ack(&queue, 0), 0);
    assert_int_equal(resend_queue_kept(&queue), 2 * FRAME(1));
    resend_queue_clear(&queue);
}

static void test_owes_an_ack_after_so_much(void **state)
{
    struct resend_queue queue;
    struct error        err;
    struct frame        frame;
    int                 i;

    (void)state;
    resend_queue_init(&queue);
    resend_queue_take(&queue, RESEND_ACK_BYTES);
    assert_false(resend_queue_owes_ack(&queue)); /* nobody would keep anything */
    queue.keeps = true;
    assert_true(resend_queue_owes_ack(&queue));
    resend_queue_put_ack(&queue, 7);
    assert_int_equal(frame_peek(queue.bytes, &frame, &err), 1);
    assert_int_equal(frame.type, FRAME_ACK);
    assert_int_equal(frame.generation, 7);
    assert_int_equal(get_u64(frame.body), FRAME(RESEND_ACK_BYTES));
    assert_false(resend_queue_owes_ack(&queue));
    for (i = 0; i < RESEND_ACK_FRAMES - 1; i++)
        resend_queue_take(&queue, 0);
    assert_false(resend_queue_owes_ack(&queue));
    resend_queue_take(&queue, 0);
    assert_true(resend_queue_owes_ack(&queue));
    resend_queue_put_ack(&queue, 7);
    resend_queue_put_ack(&queue, 7); /* says nothing new, so it is not sent */
    assert_string_equal(sent(&queue), "!!");
    resend_queue_clear(&queue);
}

/* Whatever a pipe takes at a time, what comes out is the stream. */
static void test_writes_in_pieces(void **state)
{
    struct resend_queue queue;
    struct evbuffer    *in = evbuffer_new();
    struct error        err;
    size_t              again;
    int                 pair[2], i;

    (void)state;
    assert_int_equal(pipe(pair), 0);
    assert_int_equal(evutil_make_socket_nonblocking(pair[1]), 0);
    resend_queue_init(&queue);
    queue.keeps = true;
    for (i = 0; i < 1000; i++)
        put(&queue, (char)('a' + i % 26), 512);
    while (resend_queue_write(&queue, pair[1]) > 0)
        ;
    assert_true(resend_queue_unsent(&queue) > 0); /* the pipe is full */
    assert_int_equal(resend_queue_rewind(&queue, 2 * FRAME(512), &again, &err), 0);
    evbuffer_read(in, pair[0], 64 * 1024);
    evbuffer_drain(in, evbuffer_get_length(in));
    close(pair[0]);
    close(pair[1]);

    assert_int_equal(pipe(pair), 0); /* the next connection */
    assert_int_equal(evutil_make_socket_nonblocking(pair[1]), 0);
    evutil_make_socket_nonblocking(pair[0]);
    while (resend_queue_unsent(&queue) > 0) {
        assert_true(resend_queue_write(&queue, pair[1]) > 0);
        while (evbuffer_read(in, pair[0], 4096) > 0)
            ;
    }
    for (i = 2; i < 1000; i++) {
        struct frame frame;

        assert_int_equal(frame_peek(in, &frame, &err), 1);
        assert_int_equal(frame.size, 512);
        assert_int_equal(frame.body[511], 'a' + i % 26);
        frame_drop(in, &frame);
    }
    assert_int_equal(evbuffer_get_length(in), 0);
    close(pair[0]);
    close(pair[1]);
    evbuffer_free(in);
    resend_queue_clear(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forgets_what_it_sends_until_told_to_keep),
        cmocka_unit_test(test_sends_again_what_the_other_end_has_not),
        cmocka_unit_test(test_what_was_on_its_way_may_come_late),
        cmocka_unit_test(test_refuses_positions_that_cannot_be),
        cmocka_unit_test(test_owes_an_ack_after_so_much),
        cmocka_unit_test(test_writes_in_pieces),
    };

    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
