/* output_fixture.c - an output into two pipes, for its tests
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "number.h"
#include "output_fixture.h"
#include "xalloc.h"

static void consumed_cb(size_t node, size_t bytes, void *arg)
{
    struct fixture *f = arg;

    assert_in_range(node, 0, 3);
    f->consumed[node] += bytes;
}

static void failed_cb(bool is_stderr, int error, void *arg)
{
    struct fixture *f = arg;

    f->failures[is_stderr]++;
    f->error[is_stderr] = error;
}

static char *many_label_cb(const int *rank, size_t count, void *arg)
{
    struct buffer text = { 0 };

    (void)arg;
    buffer_add_text(&text, "[");
    number_add_ranges(&text, rank, count, 0);
    buffer_add(&text, "] ", sizeof "] ");
    return text.bytes;
}

static int world_of_cb(int rank, void *arg)
{
    const struct fixture *f = arg;

    return rank < 4 ? f->world[rank] : 0;
}

int output_setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    int             out[2], err[2];

    signal(SIGPIPE, SIG_DFL); /* the writer must not need it ignored */
    if (pipe(out) < 0 || pipe(err) < 0)
        return -1;
    f->base = event_base_new();
    f->out = out[0];
    f->err = err[0];
    f->settings.out_fd = out[1];
    f->settings.err_fd = err[1];
    *state = f;
    return 0;
}

int output_teardown(void **state)
{
    struct fixture *f = *state;

    output_free(f->output);
    event_base_free(f->base);
    close(f->out);
    close(f->err);
    close(f->settings.out_fd);
    close(f->settings.err_fd);
    free(f);
    return 0;
}

void start(struct fixture *f, const char *const labels[4])
{
    static const struct output_ops ops = { consumed_cb, failed_cb, many_label_cb,
                                           world_of_cb };
    int                            rank;
    char                           host[32], file[32];

    f->output = output_new(f->base, &f->settings, &ops, f);
    for (rank = 0; rank < 4; rank++) {
        snprintf(host, sizeof host, "te%d", rank);
        snprintf(file, sizeof file, "/log/%d", rank);
        output_add_rank(f->output, rank, (size_t)rank, host, labels[rank], rank != 3,
                        f->settings.may_skip ? file : NULL);
    }
}

const char *const hosts[4] = { "te0: ", "te1: ", "te2: ", "te3: " };
const char *const none[4] = { "", "", "", "" };

void say(struct fixture *f, int rank, enum frame_stream stream, const char *text)
{
    output_bytes(f->output, rank, stream, text, strlen(text));
}

void read_more(int fd, struct buffer *seen)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    ssize_t       n;

    assert_int_equal(poll(&ready, 1, LIMIT_MS), 1);
    n = read(fd, buffer_reserve(seen, 65537), 65536);
    assert_true(n > 0);
    seen->size += (size_t)n;
    seen->bytes[seen->size] = '\0';
}

char *read_bytes(int fd, size_t size)
{
    struct buffer seen = { 0 };

    while (seen.size < size)
        read_more(fd, &seen);
    return seen.bytes;
}

void expect_read(int fd, const char *text)
{
    char *seen = read_bytes(fd, strlen(text));

    assert_string_equal(seen, text);
    free(seen);
}

void expect_nothing_more(int fd)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };

    assert_int_equal(poll(&ready, 1, 0), 0);
}

void await_consumed(struct fixture *f, size_t node, size_t bytes)
{
    int64_t until_ns = clock_now_ns() + LIMIT_MS * 1000000LL;

    while (f->consumed[node] < bytes) {
        assert_true(clock_now_ns() < until_ns);
        event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_int_equal(f->consumed[node], bytes);
}

void await_readable(struct fixture *f, int fd)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    int64_t       until_ns = clock_now_ns() + LIMIT_MS * 1000000LL;

    while (poll(&ready, 1, 10) == 0) {
        assert_true(clock_now_ns() < until_ns);
        event_base_loop(f->base, EVLOOP_NONBLOCK);
    }
}
