/* test_output.c - output with its threads: order, credit, what is kept back
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
#include <time.h>

#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"
#include "output/linebuf.h"
#include "output_fixture.h"
#include "strlist.h"
#include "xalloc.h"

static void test_whole_lines(void **state)
{
    struct fixture *f = *state;

    start(f, hosts);
    say(f, 0, STREAM_STDOUT, "hal");
    say(f, 1, STREAM_STDOUT, "one\ntwo\nthr");
    say(f, 0, STREAM_STDOUT, "lo\n");
    say(f, 1, STREAM_STDERR, "oops\n");
    say(f, 1, STREAM_STDOUT, "ee");
    output_end(f->output, 1, STREAM_STDOUT);
    say(f, 2, STREAM_STDOUT, "never ended");
    assert_int_equal(output_finish(f->output, 10), 0);
    expect_read(f->out, "te1: one\nte1: two\nte0: hallo\nte1: three\nte2: never ended\n");
    expect_read(f->err, "te1: oops\n");
    expect_nothing_more(f->out);
    expect_nothing_more(f->err);
}

/* Every byte value, in chunks of all sizes, and nothing added. */
static void test_without_label_bytes_are_exact(void **state)
{
    struct fixture *f = *state;
    unsigned char   bytes[30000];
    uint32_t        seed = 1;
    size_t          i, n;
    char           *seen;

    start(f, none);
    for (i = 0; i < sizeof bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(i % 3 == 0 ? "\n\r\r\n"[seed >> 30] : (int)(seed >> 24));
    }
    bytes[sizeof bytes - 1] = '\r';
    for (i = 0; i < sizeof bytes; i += n) {
        n = 1 + i % 97 < sizeof bytes - i ? 1 + i % 97 : sizeof bytes - i;
        output_bytes(f->output, 0, STREAM_STDOUT, bytes + i, n);
    }
    output_end(f->output, 0, STREAM_STDOUT);
    assert_int_equal(output_finish(f->output, 10), 0);
    seen = read_bytes(f->out, sizeof bytes);
    assert_memory_equal(seen, bytes, sizeof bytes);
    free(seen);
    expect_nothing_more(f->out);
}

/* Both streams into one file keep the order they came in. */
static void test_one_file_keeps_order(void **state)
{
    struct fixture *f = *state;
    int             i, err = f->settings.err_fd;

    f->settings.err_fd = dup(f->settings.out_fd);
    start(f, hosts);
    for (i = 0; i < 100; i++) {
        say(f, 0, STREAM_STDOUT, "out\n");
        say(f, 0, STREAM_STDERR, "err\n");
    }
    assert_int_equal(output_finish(f->output, 10), 0);
    for (i = 0; i < 100; i++) {
        char line[19];

        assert_int_equal(read(f->out, line, 18), 18);
        assert_memory_equal(line, "te0: out\nte0: err\n", 18);
    }
    close(err);
}

/* Held back, hidden, or written: all of it is credit again in the end. */
static void test_credit_comes_back(void **state)
{
    struct fixture *f = *state;

    start(f, hosts);
    say(f, 0, STREAM_STDOUT, "no line yet");
    await_consumed(f, 0, 11);
    say(f, 0, STREAM_STDOUT, ", now\nand");
    await_consumed(f, 0, 20);
    say(f, 3, STREAM_STDERR, "not shown\n");
    await_consumed(f, 3, 10);
    assert_int_equal(output_finish(f->output, 10), 0);
    expect_read(f->out, "te0: no line yet, now\nte0: and\n");
    expect_nothing_more(f->err);
}

/* Nobody reads: credit stays away, so agents stop; then all of it arrives. */
static void test_slow_reader_loses_nothing(void **state)
{
    struct fixture *f = *state;
    const size_t    lines = 20000;
    struct buffer   text = { 0 };
    char           *seen;
    size_t          i;

    start(f, none);
    for (i = 0; i < lines; i++) {
        char line[64];

        snprintf(line, sizeof line, "line %06zu 0123456789012345678901234567890123456\n", i);
        buffer_add_text(&text, line);
        output_bytes(f->output, 0, STREAM_STDOUT, line, strlen(line));
    }
    assert_true(output_waiting(f->output) > text.size / 2);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_true(f->consumed[0] < text.size / 2);
    seen = read_bytes(f->out, text.size);
    assert_memory_equal(seen, text.bytes, text.size);
    free(seen);
    await_consumed(f, 0, text.size);
    assert_int_equal(output_waiting(f->output), 0);
    buffer_clear(&text);
}

/* Frames of two bytes from ranks that take turns must not cost fifty times that. */
static void test_tiny_frames_are_bounded(void **state)
{
    struct fixture *f = *state;
    size_t          i, sent = 0;

    start(f, hosts);
    for (i = 0; i < 500000; i++, sent += 2)
        say(f, (int)(i % 3), i % 2 == 0 ? STREAM_STDOUT : STREAM_STDERR, "x\n");
    assert_true(output_waiting(f->output) < sent + sent / 4 + 3 * (1 << 20));
    output_finish(f->output, 0);
}

static void test_unfinished_lines_are_bounded(void **state)
{
    struct fixture *f = *state;
    char           *piece = xmalloc(LINEBUF_MAX);
    char            label[16];
    int             rank;

    memset(piece, 'x', LINEBUF_MAX);
    start(f, hosts);
    for (rank = 4; rank < 20; rank++) {
        snprintf(label, sizeof label, "%d: ", rank);
        output_add_rank(f->output, rank, 0, "te", label, true, NULL);
        output_bytes(f->output, rank, STREAM_STDOUT, piece, LINEBUF_MAX);
    }
    free(piece);
    /* those beyond the bound went on as pieces */
    assert_true(output_waiting(f->output) > OUTPUT_HELD_MAX);
    piece = read_bytes(f->out, LINEBUF_MAX + 5);
    assert_int_equal(strcspn(piece, "x"), 4);
    free(piece);
    output_finish(f->output, 0);
}

/* muster's own words on stderr get past a reader of stdout who does not read. */
static void test_own_lines_jump_the_queue(void **state)
{
    struct fixture *f = *state;
    char           *line = xmalloc(300001);

    memset(line, '\n', 300000);
    line[300000] = '\0';
    start(f, hosts);
    say(f, 0, STREAM_STDOUT, line);
    output_own(f->output, "muster: still here\n", 19);
    expect_read(f->err, "muster: still here\n");
    /* and in one stream they come before what waits, behind what is being written */
    say(f, 0, STREAM_STDERR, line);
    await_readable(f, f->err);
    say(f, 0, STREAM_STDERR, "last\n");
    output_own(f->output, "muster: first\n", 14);
    free(line);
    line = read_bytes(f->err, 300000 * 6 + 10 + 14);
    assert_non_null(strstr(line, "\nmuster: first\nte0: last\n"));
    free(line);
    output_finish(f->output, 0);
    output_own(f->output, "muster: after all\n", 18);
    expect_read(f->err, "muster: after all\n");
}

/* All is written, and the run has a last word: its program of --on-event has failed, say. */
static void test_own_line_when_all_is_written(void **state)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    struct fixture       *f = *state;

    start(f, hosts);
    output_close(f->output);
    while (!output_is_written(f->output))
        nanosleep(&pause, NULL);
    output_own(f->output, "muster: by the way\n", 19);
    expect_read(f->err, "muster: by the way\n");
    output_finish(f->output, 0);
    expect_nothing_more(f->err);
}

/* Messages that were written, or said to be left out; only whole lines count. */
static size_t messages_in(const struct buffer *seen)
{
    size_t      count = 0, left_out;
    const char *line = seen->bytes, *end;

    for (; (end = strchr(line, '\n')) != NULL; line = end + 1)
        count += sscanf(line, "muster: %zu messages were left out here", &left_out) == 1 ? left_out
                                                                                      : 1;
    return count;
}

static void test_own_lines_are_bounded(void **state)
{
    struct fixture *f = *state;
    char            line[1001];
    struct buffer   seen = { 0 };
    size_t          i;

    memset(line, 'x', 999);
    line[999] = '\n';
    line[1000] = '\0';
    start(f, hosts);
    for (i = 0; i < 3000; i++)
        output_own(f->output, line, 1000);
    do /* though nothing comes behind them */
        read_more(f->err, &seen);
    while (messages_in(&seen) < 3000);
    assert_int_equal(messages_in(&seen), 3000);
    assert_non_null(strstr(seen.bytes, "messages were left out here\n"));
    assert_true(seen.size < 2600000);
    output_own(f->output, "muster: the end\n", 16);
    expect_read(f->err, "muster: the end\n");
    buffer_clear(&seen);
}

static void test_skipping(void **state)
{
    struct fixture *f = *state;
    char           *line = xmalloc(100001), *note;
    struct buffer   seen = { 0 };
    size_t          i, sent = 0, skipped;

    f->settings.may_skip = true;
    memset(line, 'x', 100000);
    line[99999] = '\n';
    line[100000] = '\0';
    start(f, hosts);
    for (i = 0; i < 200; i++, sent += 100000)
        say(f, 0, STREAM_STDOUT, line);
    assert_true(output_waiting(f->output) < OUTPUT_SKIP_MAX + 300000);
    /* the rank did not have to wait: what was dropped is credit at once */
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_true(f->consumed[0] > sent / 3);
    free(read_bytes(f->out, OUTPUT_SKIP_MAX - 1000000));
    say(f, 0, STREAM_STDOUT, "again\n");
    output_end(f->output, 0, STREAM_STDOUT);
    do
        read_more(f->out, &seen);
    while (strstr(seen.bytes, "again\n") == NULL);
    note = strstr(seen.bytes, "\nte0: ... ");
    assert_non_null(note);
    skipped = strtoul(note + 10, NULL, 10);
    assert_in_range(skipped, 1, sent - OUTPUT_SKIP_MAX);
    assert_int_equal(skipped % 100000, 0);
    assert_non_null(strstr(note, " bytes skipped, see /log/0\nte0: again\n"));
    buffer_clear(&seen);
    free(line);
    assert_int_equal(output_finish(f->output, 10), 0);
}

static void test_terminal_shows_unfinished(void **state)
{
    struct fixture *f = *state;

    f->settings.filter_out = f->settings.filter_err = true;
    start(f, hosts);
    say(f, 0, STREAM_STDOUT, "Loading \033[5n");
    await_readable(f, f->out); /* nothing but a timer brings it */
    expect_read(f->out, "te0: Loading ^[[5n");
    say(f, 0, STREAM_STDOUT, "done\n");
    expect_read(f->out, "\r\033[Kte0: Loading ^[[5ndone\n");
    output_progress(f->output, "connecting 1/2");
    expect_read(f->err, "connecting 1/2");
    say(f, 0, STREAM_STDERR, "hm\n");
    expect_read(f->err, "\r\033[Kte0: hm\n");
    output_progress(f->output, "connecting 2/2");
    expect_read(f->err, "connecting 2/2");
    output_finish(f->output, 10);
    expect_read(f->err, "\r\033[K");
}

static void test_quiet_shows_no_progress(void **state)
{
    struct fixture *f = *state;

    f->settings.filter_err = true;
    start(f, hosts);
    log_init("muster", LOG_ERROR);
    output_progress(f->output, "connecting 1/2");
    log_init("muster", LOG_WARN);
    output_progress(f->output, "connecting 2/2");
    expect_read(f->err, "connecting 2/2");
    output_finish(f->output, 10);
}

/* A prompt behind much output is shown once that is written, though nothing more comes. */
static void test_unfinished_behind_much(void **state)
{
    const struct timeval late = { .tv_usec = 500000 };
    struct fixture      *f = *state;
    char                *line = xmalloc(300001);

    memset(line, '\n', 300000);
    line[300000] = '\0';
    f->settings.filter_out = true;
    start(f, none);
    say(f, 0, STREAM_STDOUT, line);
    await_readable(f, f->out);
    say(f, 0, STREAM_STDOUT, line);
    say(f, 0, STREAM_STDOUT, "Loading");
    event_base_loopexit(f->base, &late);
    event_base_dispatch(f->base);
    free(line);
    line = read_bytes(f->out, 600000);
    await_readable(f, f->out);
    expect_read(f->out, "Loading");
    free(line);
}

static void test_fold(void **state)
{
    struct fixture *f = *state;

    f->settings.fold = true;
    start(f, hosts);
    say(f, 0, STREAM_STDOUT, "sa");
    say(f, 1, STREAM_STDOUT, "same\n");
    say(f, 0, STREAM_STDOUT, "me\n");
    say(f, 2, STREAM_STDERR, "other\n");
    output_end(f->output, 0, STREAM_STDOUT);
    await_consumed(f, 1, 5);
    expect_nothing_more(f->out);
    assert_int_equal(output_finish(f->output, 10), 0);
    expect_read(f->out, "---------------\nte[0-1] (2)\n---------------\nsame\n");
    expect_read(f->err, "---------------\nte2\n---------------\nother\n");
}

static void test_fold_is_bounded(void **state)
{
    struct fixture *f = *state;
    const size_t    piece = 1 << 20;
    char           *line = xmalloc(piece + 1), *seen;
    size_t          i;

    f->settings.fold = true;
    memset(line, 'x', piece);
    line[piece - 1] = '\n';
    line[piece] = '\0';
    close(f->settings.out_fd);
    f->settings.out_fd = open("/dev/null", O_WRONLY);
    start(f, hosts);
    say(f, 1, STREAM_STDERR, "kept\n");
    for (i = 0; i <= OUTPUT_FOLD_MAX >> 20; i++)
        say(f, 0, STREAM_STDOUT, line);
    say(f, 1, STREAM_STDERR, "as it comes\n");
    free(line);
    assert_int_equal(output_finish(f->output, 10), 0);
    seen = read_bytes(f->err, 1);
    assert_string_equal(
        seen, "muster: more than 24 MiB of output: printing it as it comes, not folded\n"
              "te1: kept\nte1: as it comes\n");
    free(seen);
}

static void test_tail(void **state)
{
    struct fixture *f = *state;
    struct strlist  lines = { 0 };
    char            line[32];
    int             i;

    start(f, hosts);
    say(f, 3, STREAM_STDOUT, "only stdout\n");
    for (i = 0; i < 100; i++) {
        snprintf(line, sizeof line, "line %d\n", i);
        say(f, 1, STREAM_STDERR, line);
    }
    output_tail(f->output, 1, &lines);
    assert_int_equal(lines.count, OUTPUT_TAIL_LINES);
    assert_string_equal(lines.item[0], "line 80");
    assert_string_equal(lines.item[OUTPUT_TAIL_LINES - 1], "line 99");
    strlist_clear(&lines);
    output_tail(f->output, 3, &lines);
    assert_int_equal(lines.count, 1);
    assert_string_equal(lines.item[0], "only stdout");
    strlist_clear(&lines);
    output_tail(f->output, 77, &lines);
    assert_int_equal(lines.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, output_setup, output_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_whole_lines),
        TEST(test_without_label_bytes_are_exact),
        TEST(test_one_file_keeps_order),
        TEST(test_credit_comes_back),
        TEST(test_slow_reader_loses_nothing),
        TEST(test_tiny_frames_are_bounded),
        TEST(test_unfinished_lines_are_bounded),
        TEST(test_own_lines_jump_the_queue),
        TEST(test_own_line_when_all_is_written),
        TEST(test_own_lines_are_bounded),
        TEST(test_skipping),
        TEST(test_terminal_shows_unfinished),
        TEST(test_quiet_shows_no_progress),
        TEST(test_unfinished_behind_much),
        TEST(test_fold),
        TEST(test_fold_is_bounded),
        TEST(test_tail),
    };

    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
