/* test_output_failure.c - readers that are gone, slow at the end, or a full device
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

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "output_fixture.h"
#include "xalloc.h"

static void await_failure(struct fixture *f, bool is_stderr)
{
    int64_t until_ns = clock_now_ns() + LIMIT_MS * 1000000LL;

    while (f->failures[is_stderr] == 0) {
        assert_true(clock_now_ns() < until_ns);
        event_base_loop(f->base, EVLOOP_ONCE);
    }
}

static void test_reader_gone(void **state)
{
    struct fixture *f = *state;

    close(f->out);
    f->out = open("/dev/null", O_RDONLY);
    start(f, hosts);
    say(f, 0, STREAM_STDOUT, "lost\n");
    await_failure(f, false);
    assert_int_equal(f->error[0], EPIPE);
    /* ranks go on, the other stream too, and it is told once */
    say(f, 0, STREAM_STDOUT, "lost too\n");
    await_consumed(f, 0, 14);
    say(f, 1, STREAM_STDERR, "fine\n");
    expect_read(f->err, "te1: fine\n");
    assert_true(output_finish(f->output, 10) >= 14);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_int_equal(f->failures[0], 1);
    assert_int_equal(f->failures[1], 0);
}

static void test_device_full(void **state)
{
    struct fixture *f = *state;

    close(f->settings.out_fd);
    f->settings.out_fd = open("/dev/full", O_WRONLY);
    start(f, hosts);
    say(f, 0, STREAM_STDOUT, "lost\n");
    await_failure(f, false);
    assert_int_equal(f->error[0], ENOSPC);
    assert_true(output_finish(f->output, 10) >= 5);
}

/* What fails at the very end is told before the end. */
static void test_late_failure(void **state)
{
    struct fixture *f = *state;

    close(f->settings.out_fd);
    f->settings.out_fd = open("/dev/full", O_WRONLY);
    start(f, hosts);
    say(f, 0, STREAM_STDOUT, "lost, and no line");
    assert_true(output_finish(f->output, 10) >= 17);
    assert_int_equal(f->error[0], ENOSPC);
    assert_int_equal(f->failures[0], 1);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_int_equal(f->failures[0], 1);
}

/* Whoever closes muster's stderr does not lose a rank's output by that. */
static void test_own_lines_may_fail(void **state)
{
    struct fixture *f = *state;

    close(f->err);
    f->err = open("/dev/null", O_RDONLY);
    start(f, hosts);
    output_own(f->output, "muster: hm\n", 11);
    say(f, 0, STREAM_STDOUT, "fine\n");
    expect_read(f->out, "te0: fine\n");
    assert_int_equal(output_finish(f->output, 10), 0);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_int_equal(f->failures[1], 0);
}

static void test_patience_ends(void **state)
{
    struct fixture *f = *state;
    char           *line = xmalloc(200001);
    int64_t         start_ns;

    memset(line, 'x', 200000);
    line[200000] = '\0';
    start(f, hosts);
    say(f, 0, STREAM_STDOUT, line);
    say(f, 0, STREAM_STDOUT, "\n");
    start_ns = clock_now_ns();
    assert_true(output_finish(f->output, 0.1) > 100000);
    assert_true(clock_now_ns() - start_ns < 10 * NS_PER_S);
    assert_int_equal(f->error[0], ETIMEDOUT);
    free(line);
}

/* Lost behind muster's own words is lost, too. */
static void test_lost_behind_own(void **state)
{
    struct fixture *f = *state;
    char           *line = xmalloc(100000);
    int64_t         until_ns = clock_now_ns() + LIMIT_MS * 1000000LL;
    int             there = 0;

    memset(line, 'x', 99999);
    line[99999] = '\n';
    start(f, hosts);
    output_own(f->output, line + 30000, 70000);
    await_readable(f, f->err); /* the thread is at that, and these come together: */
    output_own(f->output, line, 100000);
    say(f, 0, STREAM_STDERR, "lost\n");
    free(line);
    free(read_bytes(f->err, 65536));
    while (there <= 70000 - 65536)
        assert_true(ioctl(f->err, FIONREAD, &there) == 0 && clock_now_ns() < until_ns);
    assert_int_equal(output_finish(f->output, 0.1), 5);
    assert_int_equal(f->error[1], ETIMEDOUT);
}

/* Who takes nothing gets no more; the nodes get their credit, and the other reader all. */
static void test_give_up(void **state)
{
    struct fixture *f = *state;
    char           *line = xmalloc(200001);

    memset(line, 'x', 199999);
    strcpy(line + 199999, "\n");
    start(f, none);
    assert_true(output_stuck_s(f->output) == 0);
    say(f, 0, STREAM_STDOUT, line);
    await_readable(f, f->out);
    assert_true(output_stuck_s(f->output) > 0);
    output_give_up(f->output, LIMIT_MS);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_int_equal(f->failures[0] + f->consumed[0], 0);
    output_give_up(f->output, 0);
    await_failure(f, false);
    assert_int_equal(f->error[0], ETIMEDOUT);
    await_consumed(f, 0, 200000);
    assert_true(output_stuck_s(f->output) == 0);
    say(f, 0, STREAM_STDOUT, "too late\n");
    await_consumed(f, 0, 200009);
    say(f, 1, STREAM_STDERR, "fine\n");
    expect_read(f->err, "fine\n");
    free(line);
    line = read_bytes(f->out, 1);
    assert_in_range(output_finish(f->output, 10) + strlen(line), 200009, 200009 + 65536);
    free(line);
}

/* A descriptor that somebody made non-blocking is waited for, not failed. */
static void test_nonblocking_descriptor(void **state)
{
    struct fixture *f = *state;
    const size_t    size = 1000000;
    char           *text = xmalloc(size + 1), *seen;

    memset(text, 'x', size);
    text[size] = '\0';
    assert_int_equal(fcntl(f->settings.out_fd, F_SETFL, O_NONBLOCK), 0);
    start(f, none);
    say(f, 0, STREAM_STDOUT, text);
    output_end(f->output, 0, STREAM_STDOUT);
    seen = read_bytes(f->out, size);
    assert_memory_equal(seen, text, size);
    free(seen);
    free(text);
    assert_int_equal(output_finish(f->output, 10), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, output_setup, output_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reader_gone),
        TEST(test_device_full),
        TEST(test_late_failure),
        TEST(test_own_lines_may_fail),
        TEST(test_patience_ends),
        TEST(test_lost_behind_own),
        TEST(test_give_up),
        TEST(test_nonblocking_descriptor),
    };

    return cmocka_run_group_tests_name("output failure", tests, NULL, NULL);
}
