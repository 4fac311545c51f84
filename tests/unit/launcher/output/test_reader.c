/* test_reader.c - waiting for the reader at the end, and the signals that mean it
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
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "log.h"
#include "output/reader.h"
#include "output_fixture.h"
#include "xalloc.h"
#include "xevent.h"

#define MUCH ((size_t)200000) /* more than a pipe holds */

static struct buffer logged;

static void log_line(const char *line, size_t size, void *arg)
{
    (void)arg;
    buffer_add(&logged, line, size);
}

/* An output that waits for its reader: MUCH bytes of rank 0. */
static void start_waiting(struct fixture *f)
{
    char *line = xmalloc(MUCH + 1);

    memset(line, 'x', MUCH - 1);
    strcpy(line + MUCH - 1, "\n");
    start(f, none);
    say(f, 0, STREAM_STDOUT, line);
    free(line);
    await_readable(f, f->out);
    buffer_clear(&logged);
    buffer_add(&logged, "", 0);
    log_sink(log_line, NULL);
}

static int teardown(void **state)
{
    log_sink(NULL, NULL);
    buffer_clear(&logged);
    return output_teardown(state);
}

static bool was_told(void)
{
    bool is_told;

    buffer_add(&logged, "", 1);
    is_told = strstr(logged.bytes, "the reader has not read") != NULL;
    logged.size--;
    return is_told;
}

static void signal_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    reader_interrupted(arg);
}

static void signal_after(struct fixture *f, struct reader *reader, double seconds)
{
    const struct timeval after = clock_interval(seconds);

    assert_int_equal(event_base_once(f->base, -1, EV_TIMEOUT, signal_cb, reader, &after), 0);
}

static void *read_all(void *arg)
{
    struct fixture *f = arg;

    usleep(100000);
    free(read_bytes(f->out, MUCH));
    return NULL;
}

static void test_reader_gets_all(void **state)
{
    struct fixture *f = *state;
    struct reader   reader;
    pthread_t       thread;

    start_waiting(f);
    reader_begin(&reader, f->base, 0);
    assert_int_equal(pthread_create(&thread, NULL, read_all, f), 0);
    assert_in_range(output_unread(f->output), 1, MUCH);
    assert_true(reader_await(&reader, f->output));
    pthread_join(thread, NULL);
    assert_int_equal(output_unread(f->output), 0);
    assert_int_equal(output_finish(f->output, 0), 0);
    assert_false(was_told());
}

static void test_one_signal_says_what_is_unread(void **state)
{
    struct fixture *f = *state;
    struct reader   reader;
    pthread_t       thread;

    start_waiting(f);
    reader_begin(&reader, f->base, 0);
    signal_after(f, &reader, 0);
    assert_int_equal(pthread_create(&thread, NULL, read_all, f), 0);
    assert_true(reader_await(&reader, f->output));
    pthread_join(thread, NULL);
    assert_true(was_told());
    assert_false(reader.has_left);
    assert_int_equal(output_finish(f->output, 0), 0);
}

static void test_two_signals_leave(void **state)
{
    struct fixture *f = *state;
    struct reader   reader;
    uint64_t        lost;
    int             written;

    start_waiting(f);
    reader_begin(&reader, f->base, 0);
    signal_after(f, &reader, 0);
    signal_after(f, &reader, 0.05);
    assert_false(reader_await(&reader, f->output));
    assert_true(was_told());
    assert_true(reader.has_left);
    lost = output_finish(f->output, 0);
    assert_int_equal(f->error[0], ETIMEDOUT);
    assert_int_equal(ioctl(f->out, FIONREAD, &written), 0);
    assert_int_equal(lost + (uint64_t)written, MUCH);
}

/* The user has killed the run: a reader that takes nothing is not waited for. */
static void test_hurried(void **state)
{
    struct fixture *f = *state;
    struct reader   reader;

    start_waiting(f);
    reader_begin(&reader, f->base, 2);
    assert_false(reader_await(&reader, f->output));
    assert_false(was_told());
    assert_true(output_finish(f->output, 0) > 0);
}

/* A signal came before the wait: without another one muster says after a while what it waits for,
 * and then one more leaves. */
static void test_told_unasked(void **state)
{
    struct fixture *f = *state;
    struct reader   reader;

    start_waiting(f);
    reader_begin(&reader, f->base, 1);
    signal_after(f, &reader, 2);
    assert_false(reader_await(&reader, f->output));
    assert_true(was_told());
    assert_true(reader.has_left);
}

static void test_reader_goes(void **state)
{
    struct fixture *f = *state;
    struct reader   reader;

    start_waiting(f);
    reader_begin(&reader, f->base, 0);
    close(f->out);
    f->out = open("/dev/null", O_RDONLY);
    assert_true(reader_await(&reader, f->output));
    assert_true(output_finish(f->output, 0) > 0);
    assert_int_equal(f->error[0], EPIPE);
}

static void test_print(void **state)
{
    struct fixture *f = *state;
    struct reader   reader;
    int             full = open("/dev/full", O_WRONLY), error = -1;

    reader_begin(&reader, f->base, 0);
    assert_true(reader_print(&reader, f->settings.out_fd, f->settings.err_fd, "{}\n", "a\nb\n",
                             &error));
    assert_int_equal(error, 0);
    expect_read(f->err, "a\nb\n");
    expect_read(f->out, "{}\n");
    assert_true(reader_print(&reader, full, full, "{}\n", "", &error));
    assert_int_equal(error, ENOSPC);
    assert_true(reader_print(&reader, full, full, "", "", &error)); /* nothing to say */
    assert_int_equal(error, 0);
    assert_true(reader_print(&reader, f->settings.out_fd, full, "{}\n", "lost\n", &error));
    assert_int_equal(error, 0); /* there is no place to say that stderr is full */
    close(full);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, output_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reader_gets_all),
        TEST(test_one_signal_says_what_is_unread),
        TEST(test_two_signals_leave),
        TEST(test_hurried),
        TEST(test_told_unasked),
        TEST(test_reader_goes),
        TEST(test_print),
    };

    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
