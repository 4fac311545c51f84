/* test_stream.c - from a rank's pipe into frames: credit, bounds, whole lines
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
#include <unistd.h>

#include <cmocka.h>

#include "rank/stream.h"

#define LINE  "a line of which every byte counts 0123456789\n"
#define PIECE 4096 /* what is written at once; no line ends with it */

struct fixture {
    struct event_base *base;
    struct stream      stream;
    struct log_file   *log;
    struct evbuffer   *shown; /* what came in frames */
    int                pipe;  /* the rank's end; -1: it is closed */
    char               dir[64], path[128];
    size_t             written; /* bytes, all of them repeated LINEs */
};

static void ignore_cb(void *arg)
{
    (void)arg;
}

/* A disk that is slow lets the rank wait for its file. */
static void log_changed_cb(void *arg)
{
    struct fixture *f = arg;

    stream_log_changed(&f->stream);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error    err;

    f->base = event_base_new();
    event_base_priority_init(f->base, 3);
    f->shown = evbuffer_new();
    f->stream.to_frames = true;
    f->stream.changed = ignore_cb;
    f->pipe = stream_open(&f->stream, f->base, STREAM_STDOUT, 2, &err);
    assert_true(f->pipe >= 0);
    stream_begin(&f->stream);
    *state = f;
    return 0;
}

static int setup_with_log(void **state)
{
    struct fixture *f;
    struct error    err;

    setup(state);
    f = *state;
    snprintf(f->dir, sizeof f->dir, "/tmp/test_stream.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof f->path, "%s/stamp_rank0.log", f->dir);
    f->log = log_file_new(f->base, f->dir, "stamp", 0, log_changed_cb, f, &err);
    assert_non_null(f->log);
    f->stream.log = f->log;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    stream_close(&f->stream);
    if (f->pipe >= 0)
        close(f->pipe);
    if (f->log != NULL) {
        log_file_end(f->log, true);
        while (!log_file_is_over(f->log))
            event_base_loop(f->base, EVLOOP_ONCE);
        log_file_free(f->log);
        unlink(f->path);
        rmdir(f->dir);
    }
    evbuffer_free(f->shown);
    event_base_free(f->base);
    free(f);
    return 0;
}

/* Let the stream read all that was written. The file is on a disk and may need a moment. */
static void read_all(struct fixture *f)
{
    while (f->stream.read_bytes < f->written)
        event_base_loop(f->base, EVLOOP_ONCE);
}

/* Write the next `size` bytes of the endless text LINE LINE LINE ... */
static void write_text(struct fixture *f, size_t size)
{
    char   piece[PIECE];
    size_t line = sizeof LINE - 1, at;

    for (; size > 0; size -= at) {
        for (at = 0; at < sizeof piece && at < size; at++)
            piece[at] = LINE[(f->written + at) % line];
        assert_int_equal(write(f->pipe, piece, at), at);
        f->written += at;
        if (f->stream.log != NULL)
            read_all(f);
    }
}

/* Write `size` bytes that are one line, or the middle of one. */
static void write_long(struct fixture *f, size_t size)
{
    char piece[PIECE];

    memset(piece, 'x', sizeof piece);
    for (size_t now; size > 0; size -= now) {
        now = size < sizeof piece ? size : sizeof piece;
        assert_int_equal(write(f->pipe, piece, now), now);
        f->written += now;
        read_all(f);
    }
}

/* As a launcher does that gives credit: take one frame, or all of them. */
static size_t take(struct fixture *f, size_t credit)
{
    struct evbuffer *wire = evbuffer_new();
    size_t           size;
    bool             framed;

    size = stream_frame(&f->stream, 1, 0, credit, wire, &framed);
    if (framed) {
        evbuffer_drain(wire, evbuffer_get_length(wire) - size);
        evbuffer_add_buffer(f->shown, wire);
    }
    evbuffer_free(wire);
    return size;
}

static void take_all(struct fixture *f)
{
    while (take(f, STREAM_FRAME_MAX) > 0)
        ;
}

/* Every line that was shown is LINE. Returns how many. */
static int whole_lines(struct fixture *f)
{
    char *line;
    int   lines = 0;

    for (; (line = evbuffer_readln(f->shown, NULL, EVBUFFER_EOL_LF)) != NULL; lines++) {
        if (strncmp(line, LINE, sizeof LINE - 2) != 0 || strlen(line) != sizeof LINE - 2)
            fail_msg("line %d is \"%s\"", lines + 1, line);
        free(line);
    }
    assert_int_equal(evbuffer_get_length(f->shown), 0);
    return lines;
}

static void test_credit(void **state)
{
    struct fixture *f = *state;

    write_text(f, sizeof LINE - 1);
    read_all(f);
    assert_int_equal(take(f, 0), 0);
    assert_int_equal(take(f, 10), 10);
    assert_int_equal(take(f, 1000), sizeof LINE - 11);
    assert_int_equal(take(f, 1000), 0);
    assert_int_equal(whole_lines(f), 1);
}

static void test_end(void **state)
{
    struct fixture  *f = *state;
    struct evbuffer *wire = evbuffer_new();
    bool             framed;

    write_text(f, sizeof LINE - 1);
    close(f->pipe);
    f->pipe = -1;
    while (f->stream.fd >= 0)
        event_base_loop(f->base, EVLOOP_ONCE);
    assert_false(f->stream.end_sent);
    assert_int_equal(take(f, 1000), sizeof LINE - 1);
    stream_frame(&f->stream, 1, 0, 0, wire, &framed); /* the end needs no credit */
    assert_true(framed && f->stream.end_sent);
    stream_frame(&f->stream, 1, 0, 0, wire, &framed);
    assert_false(framed);
    evbuffer_free(wire);
}

/* Without a file the rank waits at the bound, and nothing is lost. */
static void test_rank_waits(void **state)
{
    struct fixture *f = *state;

    while (!f->stream.paused) {
        write_text(f, PIECE);
        event_base_loop(f->base, EVLOOP_NONBLOCK);
    }
    assert_true(evbuffer_get_length(f->stream.waiting) >= STREAM_WAITING_MAX);
    assert_true(evbuffer_get_length(f->stream.waiting) < STREAM_WAITING_MAX + STREAM_FRAME_MAX);
    write_text(f, PIECE - f->written % PIECE);
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_true(f->stream.read_bytes < f->written);
    while (f->stream.paused)
        take(f, STREAM_FRAME_MAX);
    read_all(f);
    take_all(f);
    assert_int_equal(evbuffer_get_length(f->shown), f->written);
    assert_int_equal(f->stream.lost_bytes, 0);
}

/* With a file the rank does not wait. What is left out are whole lines, wherever the bound
 * falls and however the reads cut them. */
static void test_whole_lines(void **state)
{
    struct fixture *f = *state;
    size_t          line = sizeof LINE - 1;
    int             shown;

    for (int round = 0; round < 3; round++) {
        while (evbuffer_get_length(f->stream.waiting) < STREAM_WAITING_MAX)
            write_text(f, PIECE);
        write_text(f, line - f->written % line + 3); /* complete it and begin another */
        assert_true(f->stream.skipping);
        write_text(f, 100 * line);
        take_all(f);
        write_text(f, 5); /* in the middle of a line that was not shown */
        assert_true(f->stream.skipping);
        write_text(f, 10 * line);
        assert_false(f->stream.skipping);
    }
    write_text(f, line - f->written % line);
    take_all(f);
    assert_true(f->stream.lost_bytes >= 3 * 100 * line);
    shown = whole_lines(f);
    assert_int_equal(shown * line + f->stream.lost_bytes, f->written);
}

/* The bound falls into a line whose end is in none of the next reads. */
static void test_line_is_completed(void **state)
{
    struct fixture *f = *state;
    size_t          line = sizeof LINE - 1;
    int             shown;

    assert_in_range(STREAM_WAITING_MAX % line, 1, line - 15);
    write_text(f, STREAM_WAITING_MAX);
    write_text(f, 7);
    write_text(f, 7);
    assert_false(f->stream.skipping);
    write_text(f, line);
    assert_true(f->stream.skipping);
    write_text(f, 3 * line);
    take_all(f);
    write_text(f, 2 * line - f->written % line);
    take_all(f);
    shown = whole_lines(f);
    assert_int_equal(shown * line + f->stream.lost_bytes, f->written);
}

/* A line without end is not kept without bound. */
static void test_endless_line(void **state)
{
    struct fixture *f = *state;
    size_t          most = STREAM_WAITING_MAX + STREAM_LINE_MAX + STREAM_FRAME_MAX;

    write_long(f, 8u << 20);
    assert_true(f->stream.skipping);
    assert_in_range(evbuffer_get_length(f->stream.waiting), STREAM_WAITING_MAX + STREAM_LINE_MAX,
                    most);
    assert_int_equal(evbuffer_get_length(f->stream.waiting) + f->stream.lost_bytes, f->written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_credit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rank_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_whole_lines, setup_with_log, teardown),
        cmocka_unit_test_setup_teardown(test_line_is_completed, setup_with_log, teardown),
        cmocka_unit_test_setup_teardown(test_endless_line, setup_with_log, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
