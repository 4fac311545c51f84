/* test_writer.c - the writer thread alone: order, slow, stalled and dead readers, full devices
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
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "output/writer.h"
#include "xalloc.h"

#define LIMIT_S 20.0 /* for anything that has to happen */
#define NODES   3

/* A writer into two pipes, and what its thread reported. */
struct fixture {
    struct writer  *writer;
    int             to[2], from[2]; /* stdout and stderr: write and read ends */
    struct source   source[2 * NODES]; /* stdout, then stderr, of each node */
    pthread_mutex_t lock;
    size_t          done[NODES];
    int             failures[2], error[2], over;
};

static void done_cb(size_t node, size_t bytes, void *arg)
{
    struct fixture *f = arg;

    pthread_mutex_lock(&f->lock);
    f->done[node] += bytes;
    pthread_mutex_unlock(&f->lock);
}

static void failed_cb(bool is_stderr, int error, void *arg)
{
    struct fixture *f = arg;

    pthread_mutex_lock(&f->lock);
    f->failures[is_stderr]++;
    f->error[is_stderr] = error;
    pthread_mutex_unlock(&f->lock);
}

static void over_cb(void *arg)
{
    struct fixture *f = arg;

    f->over++; /* read once the thread is joined */
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    size_t          i;

    pthread_mutex_init(&f->lock, NULL);
    for (i = 0; i < 2; i++) {
        int ends[2];

        if (pipe(ends) < 0)
            return -1;
        f->from[i] = ends[0];
        f->to[i] = ends[1];
    }
    for (i = 0; i < 2 * NODES; i++)
        f->source[i] = (struct source){ .label = "", .node = i / 2, .is_stderr = i % 2 != 0 };
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    int             i;

    writer_free(f->writer);
    for (i = 0; i < 2; i++) {
        close(f->from[i]);
        close(f->to[i]);
    }
    pthread_mutex_destroy(&f->lock);
    free(f);
    return 0;
}

static void start(struct fixture *f, bool is_terminal)
{
    static const struct writer_ops ops = { .done = done_cb, .failed = failed_cb,
                                           .over = over_cb };

    f->writer = writer_new(f->to, is_terminal, &ops, f);
}

/* The stdout of node now leads to that file. */
static void redirect_stdout(struct fixture *f, const char *path)
{
    close(f->to[0]);
    f->to[0] = open(path, O_WRONLY);
    assert_true(f->to[0] >= 0);
}

static void close_reader(struct fixture *f, int is_stderr)
{
    close(f->from[is_stderr]);
    f->from[is_stderr] = open("/dev/null", O_RDONLY);
}

/* Add lines of that source, charged with their size. */
static void add(struct fixture *f, int source, const char *lines)
{
    struct buffer run = { 0 };

    buffer_add_text(&run, lines);
    writer_add(f->writer, &f->source[source], &run, strlen(lines));
    assert_int_equal(run.size, 0);
}

/* Add one line of that size, which is all x. */
static void add_long(struct fixture *f, int source, size_t size)
{
    char *line = xmalloc(size + 1);

    memset(line, 'x', size);
    line[size - 1] = '\n';
    line[size] = '\0';
    add(f, source, line);
    free(line);
}

static void read_more(int fd, struct buffer *seen)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    ssize_t       n;

    assert_int_equal(poll(&ready, 1, (int)(LIMIT_S * 1000)), 1);
    n = read(fd, buffer_reserve(seen, 65537), 65536);
    assert_true(n > 0);
    seen->size += (size_t)n;
    seen->bytes[seen->size] = '\0';
}

static void expect_read(int fd, const char *text)
{
    struct buffer seen = { 0 };

    while (seen.size < strlen(text))
        read_more(fd, &seen);
    assert_string_equal(seen.bytes, text);
    buffer_clear(&seen);
}

static size_t done(struct fixture *f, size_t node)
{
    size_t bytes;

    pthread_mutex_lock(&f->lock);
    bytes = f->done[node];
    pthread_mutex_unlock(&f->lock);
    return bytes;
}

static void await_done(struct fixture *f, size_t node, size_t bytes)
{
    int64_t until_ns = clock_now_ns() + (int64_t)(LIMIT_S * 1e9);

    while (done(f, node) < bytes && clock_now_ns() < until_ns)
        usleep(1000);
    assert_int_equal(done(f, node), bytes);
}

/* Fill the pipe of stdout and wait until its reader counts as stalled. */
static void stall(struct fixture *f)
{
    int64_t until_ns = clock_now_ns() + (int64_t)(LIMIT_S * 1e9);

    add_long(f, 0, 200000);
    while (writer_stuck_s(f->writer) < 0.05 && clock_now_ns() < until_ns)
        usleep(1000);
    assert_true(writer_stuck_s(f->writer) >= 0.05);
}

static size_t in_pipe(int fd)
{
    int size;

    assert_int_equal(ioctl(fd, FIONREAD, &size), 0);
    return (size_t)size;
}

static void test_lines_keep_their_order(void **state)
{
    struct fixture *f = *state;

    start(f, false);
    add(f, 0, "0 a\n0 b\n");
    add(f, 2, "1 a\n");
    add(f, 0, "0 c\n");
    add(f, 4, "2 a\n");
    expect_read(f->from[0], "0 a\n0 b\n1 a\n0 c\n2 a\n");
    await_done(f, 0, 12);
    await_done(f, 1, 4);
    await_done(f, 2, 4);
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 0);
    assert_int_equal(f->failures[0] + f->failures[1], 0);
}

static void test_each_stream_has_its_descriptor(void **state)
{
    struct fixture *f = *state;

    start(f, false);
    add(f, 0, "out\n");
    add(f, 1, "err\n");
    add(f, 2, "more\n");
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 0);
    expect_read(f->from[0], "out\nmore\n");
    expect_read(f->from[1], "err\n");
}

static void test_label_precedes_each_line(void **state)
{
    struct fixture *f = *state;

    f->source[0].label = "te1: ";
    f->source[0].label_size = 5;
    start(f, false);
    add(f, 0, "a\nb\n");
    add(f, 0, "no end");
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 0);
    expect_read(f->from[0], "te1: a\nte1: b\nte1: no end\n");
}

/* A slow reader gets everything; credit is given back only for what was written. */
static void test_slow_reader_gets_all(void **state)
{
    struct fixture *f = *state;
    struct buffer   seen = { 0 };
    const size_t    size = 500000;

    start(f, false);
    add_long(f, 0, size);
    add(f, 2, "after\n");
    read_more(f->from[0], &seen);
    assert_true(writer_waiting(f->writer) > 0);
    assert_int_equal(done(f, 1), 0);
    while (seen.size < size + 6) {
        usleep(1000);
        read_more(f->from[0], &seen);
    }
    assert_string_equal(seen.bytes + size, "after\n");
    await_done(f, 0, size);
    await_done(f, 1, 6);
    assert_int_equal(writer_waiting(f->writer), 0);
    assert_true(writer_stuck_s(f->writer) == 0);
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 0);
    buffer_clear(&seen);
}

/* While the reader is stalled, small runs join the last one of their stream: the order within a
 * stream stays, and memory is not much more than the bytes themselves. */
static void test_lines_join_in_a_crowd(void **state)
{
    struct fixture *f = *state;
    struct buffer   seen = { 0 };
    size_t          i, k, count = 100000, next[2] = { 0, 0 }, size = 0;
    char            line[16], *at;

    start(f, false);
    stall(f);
    add_long(f, 4, WRITER_STRICT_MAX);
    for (i = 0; i < count; i++) {
        snprintf(line, sizeof line, "%zu %zu\n", i % 2, i / 2);
        size += strlen(line);
        add(f, i % 2 == 0 ? 0 : 2, line);
    }
    assert_true(writer_waiting(f->writer) < 200000 + WRITER_STRICT_MAX + size + size / 4);
    while (seen.size < 200000 + WRITER_STRICT_MAX + size)
        read_more(f->from[0], &seen);
    at = seen.bytes + 200000 + WRITER_STRICT_MAX;
    for (i = 0; i < count; i++) {
        k = (size_t)strtoul(at, &at, 10);
        assert_in_range(k, 0, 1);
        assert_int_equal(strtoul(at, &at, 10), next[k]);
        next[k]++;
        assert_int_equal(*at++, '\n');
    }
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 0);
    buffer_clear(&seen);
}

static void test_closed_reader(void **state)
{
    struct fixture *f = *state;

    close_reader(f, 0);
    start(f, false);
    add(f, 0, "lost\n");
    await_done(f, 0, 5);
    add(f, 2, "lost too\n");
    add(f, 3, "fine\n");
    expect_read(f->from[1], "fine\n");
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 14);
    assert_int_equal(f->failures[0], 1); /* reported once */
    assert_int_equal(f->error[0], EPIPE);
    assert_int_equal(f->failures[1], 0);
    assert_int_equal(done(f, 1), 14); /* the nodes get their credit nevertheless */
}

static void test_full_device(void **state)
{
    struct fixture *f = *state;

    redirect_stdout(f, "/dev/full");
    start(f, false);
    add(f, 0, "lost\n");
    await_done(f, 0, 5);
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 5);
    assert_int_equal(f->failures[0], 1);
    assert_int_equal(f->error[0], ENOSPC);
}

/* writer_finish() does not return before a failure is reported. */
static void test_full_device_at_the_end(void **state)
{
    struct fixture *f = *state;

    redirect_stdout(f, "/dev/full");
    start(f, false);
    add(f, 0, "no end");
    assert_true(writer_finish(f->writer, LIMIT_S) >= 6);
    assert_int_equal(f->failures[0], 1);
}

static void test_stalled_reader_is_given_up(void **state)
{
    struct fixture *f = *state;
    int64_t         start_ns;
    uint64_t        lost;

    start(f, false);
    stall(f);
    add(f, 2, "never\n");
    start_ns = clock_now_ns();
    lost = writer_finish(f->writer, 0.1);
    assert_true(clock_now_ns() - start_ns < (int64_t)(LIMIT_S * 1e9));
    assert_int_equal(lost + in_pipe(f->from[0]), 200006);
    assert_int_equal(f->failures[0], 1);
    assert_int_equal(f->error[0], ETIMEDOUT);
    assert_int_equal(done(f, 0), 200000);
    assert_int_equal(done(f, 1), 6);
    assert_int_equal(writer_waiting(f->writer), 0);
}

/* Labels are not a rank's: a line of which only the label was written is lost. */
static void test_lost_without_labels(void **state)
{
    struct fixture *f = *state;
    size_t          total = 0, got = 0, i, size, column = 0;
    uint64_t        lost;
    char            line[64], *text;

    f->source[0].label = "te1: ";
    f->source[0].label_size = 5;
    start(f, false);
    for (i = 0; i < 20000; i++) {
        total += (size_t)snprintf(line, sizeof line, "%zu is its number\n", i);
        add(f, 0, line);
    }
    lost = writer_finish(f->writer, 0.1);
    size = in_pipe(f->from[0]);
    text = xmalloc(size + 1);
    assert_int_equal(read(f->from[0], text, size), size);
    for (i = 0; i < size; i++) {
        got += column++ >= 5;
        column = text[i] == '\n' ? 0 : column;
    }
    free(text);
    assert_true(got > 0 && lost > 0);
    assert_int_equal(lost + got, total);
}

static void *read_slowly(void *arg)
{
    struct fixture *f = arg;
    char            bytes[20000];
    size_t          seen = 0;
    ssize_t         n;

    while (seen < 200000 && (n = read(f->from[0], bytes, sizeof bytes)) > 0) {
        seen += (size_t)n;
        usleep(50000);
    }
    return NULL;
}

/* Only a reader that takes nothing is given up: one that takes a little now and then gets
 * everything. */
static void test_patience_begins_anew_with_each_byte(void **state)
{
    struct fixture *f = *state;
    pthread_t       reader;

    start(f, false);
    stall(f);
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, f), 0);
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 0);
    pthread_join(reader, NULL);
    assert_int_equal(f->failures[0], 0);
}

static void test_what_comes_after_the_end_is_dropped(void **state)
{
    struct fixture *f = *state;

    start(f, false);
    add(f, 0, "in time\n");
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 0);
    add(f, 0, "late\n");
    assert_int_equal(done(f, 0), 13);
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 5);
    assert_int_equal(writer_waiting(f->writer), 0);
    expect_read(f->from[0], "in time\n");
}

/* The end without a wait: over() comes once all is written. */
static void test_close(void **state)
{
    struct fixture *f = *state;
    struct buffer   seen = { 0 };
    int64_t         until_ns = clock_now_ns() + (int64_t)(LIMIT_S * 1e9);

    start(f, false);
    stall(f);
    assert_int_equal(writer_unread(f->writer), 200000);
    writer_close(f->writer);
    assert_false(writer_is_over(f->writer));
    while (seen.size < 200000)
        read_more(f->from[0], &seen);
    buffer_clear(&seen);
    while (!writer_is_over(f->writer) && clock_now_ns() < until_ns)
        usleep(1000);
    assert_true(writer_is_over(f->writer));
    assert_int_equal(writer_unread(f->writer), 0);
    add(f, 0, "late\n");
    assert_int_equal(writer_finish(f->writer, 0), 5);
    assert_int_equal(f->over, 1);
}

static void test_own_lines_come_first(void **state)
{
    struct fixture *f = *state;
    struct buffer   seen = { 0 };

    start(f, false);
    add_long(f, 1, 200000);
    read_more(f->from[1], &seen); /* the thread is at that one; these two wait: */
    add(f, 1, "a rank's\n");
    writer_own(f->writer, "muster: first\n", 14);
    while (seen.size < 200000 + 14 + 9)
        read_more(f->from[1], &seen);
    assert_string_equal(seen.bytes + 200000, "muster: first\na rank's\n");
    buffer_clear(&seen);
}

/* A closed stderr loses muster's own lines, and that is no failure. */
static void test_own_lines_may_be_lost(void **state)
{
    struct fixture *f = *state;

    close_reader(f, 1);
    start(f, false);
    writer_own(f->writer, "muster: hm\n", 11);
    add(f, 0, "fine\n");
    expect_read(f->from[0], "fine\n");
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 0);
    assert_int_equal(f->failures[1], 0);
}

static void test_own_lines_are_bounded(void **state)
{
    struct fixture *f = *state;
    struct buffer   seen = { 0 };
    char            line[1001];
    size_t          i;

    memset(line, 'x', 1000);
    line[999] = '\n';
    line[1000] = '\0';
    start(f, false);
    add_long(f, 1, 200000);
    read_more(f->from[1], &seen);
    for (i = 0; i < 2 * WRITER_OWN_MAX / 1000; i++)
        writer_own(f->writer, line, 1000);
    while (strstr(seen.bytes, " messages were left out here\n") == NULL)
        read_more(f->from[1], &seen);
    assert_true(seen.size < 200000 + WRITER_OWN_MAX + 1000);
    buffer_clear(&seen);
}

/* A pipe stands for the terminal: the width is then DISPLAY_COLUMNS. */
static void test_terminal(void **state)
{
    struct fixture *f = *state;

    start(f, true);
    assert_true(writer_unfinished(f->writer, &f->source[0], "Password: ", 10));
    expect_read(f->from[0], "Password: ");
    writer_progress(f->writer, "2 of 3 nodes");
    expect_read(f->from[1], "\r\033[K2 of 3 nodes");
    assert_int_equal(writer_finish(f->writer, LIMIT_S), 0);
}

static void test_unfinished_text_waits_for_lines(void **state)
{
    struct fixture *f = *state;

    start(f, true);
    stall(f);
    add(f, 2, "a line\n");
    assert_false(writer_unfinished(f->writer, &f->source[0], "Password: ", 10));
    assert_true(writer_finish(f->writer, 0) > 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines_keep_their_order),
        TEST(test_each_stream_has_its_descriptor),
        TEST(test_label_precedes_each_line),
        TEST(test_slow_reader_gets_all),
        TEST(test_lines_join_in_a_crowd),
        TEST(test_closed_reader),
        TEST(test_full_device),
        TEST(test_full_device_at_the_end),
        TEST(test_stalled_reader_is_given_up),
        TEST(test_lost_without_labels),
        TEST(test_patience_begins_anew_with_each_byte),
        TEST(test_what_comes_after_the_end_is_dropped),
        TEST(test_close),
        TEST(test_own_lines_come_first),
        TEST(test_own_lines_may_be_lost),
        TEST(test_own_lines_are_bounded),
        TEST(test_terminal),
        TEST(test_unfinished_text_waits_for_lines),
    };

    return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
