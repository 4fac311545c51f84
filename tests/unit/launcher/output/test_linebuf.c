/* test_linebuf.c - lines come out the same however the stream was cut
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/linebuf.h"
#include "xalloc.h"

/* Segments as text, each followed by its end: L, C (CRLF), R (CR), or '.'. */
static void describe(const struct buffer *run, struct buffer *out)
{
    static const char ends[] = { [SEGMENT_NONE] = '.', [SEGMENT_LF] = 'L',
                                 [SEGMENT_CRLF] = 'C', [SEGMENT_CR] = 'R' };
    struct segments   walk;
    struct segment    segment;

    segments_start(&walk, run->bytes, run->size);
    while (segment_next(&walk, &segment)) {
        assert_true(segment.size <= LINEBUF_MAX);
        buffer_add(out, segment.text, segment.size);
        buffer_add(out, "<", 1);
        buffer_add(out, &ends[segment.end], 1);
        buffer_add(out, ">", 1);
    }
}

/* Feed bytes in chunks of that size (0: all at once); the caller frees. */
static char *cut(const char *bytes, size_t size, size_t chunk)
{
    struct linebuf line = { 0 };
    struct buffer  out = { 0 }, run = { 0 };
    size_t         at, n;

    for (at = 0; at < size; at += n) {
        n = chunk == 0 || chunk > size - at ? size - at : chunk;
        run.size = 0;
        linebuf_add(&line, bytes + at, n, &run);
        assert_true(line.held.size <= LINEBUF_MAX + 1);
        describe(&run, &out);
    }
    run.size = 0;
    linebuf_end(&line, &run);
    assert_null(line.held.bytes);
    describe(&run, &out);
    buffer_clear(&run);
    buffer_add(&out, "", 1);
    return out.bytes;
}

static void expect(const char *text, const char *segments)
{
    size_t chunk;

    for (chunk = 0; chunk <= strlen(text); chunk++) {
        char *seen = cut(text, strlen(text), chunk);

        assert_string_equal(seen, segments);
        free(seen);
    }
}

static void test_ends(void **state)
{
    (void)state;
    expect("", "");
    expect("a", "a<.>");
    expect("a\n", "a<L>");
    expect("\n\n", "<L><L>");
    expect("a\nbc\nd", "a<L>bc<L>d<.>");
    expect("a\r\nb\r\n", "a<C>b<C>");
    expect("1%\r2%\r3%\n", "1%<R>2%<R>3%<L>");
    expect("\r1%\r2%", "<R>1%<R>2%<.>");
    expect("a\r\r\n", "a<R><C>");
    expect("a\n\rb", "a<L><R>b<.>");
    expect("100%\r", "100%<R>");
}

/* What is complete must come at once: it is all that a slow rank ever sees. */
static void test_nothing_complete_is_held(void **state)
{
    struct linebuf line = { 0 };
    struct buffer  run = { 0 };

    (void)state;
    linebuf_add(&line, "one\ntwo\nthr", 11, &run);
    assert_int_equal(run.size, 8);
    linebuf_add(&line, "ee\n", 3, &run);
    assert_int_equal(run.size, 14);
    assert_memory_equal(run.bytes, "one\ntwo\nthree\n", 14);
    linebuf_add(&line, "1%\r", 3, &run);
    assert_int_equal(run.size, 14);
    linebuf_add(&line, "2", 1, &run);
    assert_int_equal(run.size, 17);
    linebuf_clear(&line);
    buffer_clear(&run);
}

static void test_long_lines_are_cut(void **state)
{
    static const int  beyond[] = { -1, 0, 1, 2, 5000 };
    static const char *const ends[] = { "", "\n", "\r\n", "\r" };
    size_t size, i, e, whole;
    char  *text = xmalloc(3 * LINEBUF_MAX), *all, *pieces;

    (void)state;
    for (i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        for (e = 0; e < sizeof ends / sizeof *ends; e++) {
            size = (size_t)((long)LINEBUF_MAX * 2 + beyond[i]);
            memset(text, 'x', size);
            memcpy(text + size, ends[e], strlen(ends[e]));
            whole = size + strlen(ends[e]);
            all = cut(text, whole, 0);
            pieces = cut(text, whole, LINEBUF_MAX - 1);
            assert_string_equal(all, pieces);
            assert_memory_equal(all + LINEBUF_MAX, "<.>", 3);
            assert_int_equal(strlen(all), size + (beyond[i] > 0 ? 9 : 6));
            free(all);
            free(pieces);
        }
    }
    free(text);
}

/* Any bytes, cut anywhere: the same segments as in one piece. */
static void test_chunks_do_not_show(void **state)
{
    static const char letters[] = "a\001b\n\r\r\n";
    uint32_t          seed = 20261120;
    char              text[400];
    size_t            i, round;

    (void)state;
    for (round = 0; round < 200; round++) {
        char *all, *pieces;

        for (i = 0; i < sizeof text; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = letters[(seed >> 16) % (sizeof letters - 1)];
        }
        all = cut(text, sizeof text, 0);
        pieces = cut(text, sizeof text, 1 + round % 17);
        assert_string_equal(all, pieces);
        free(all);
        free(pieces);
    }
}

/* A thousand idle streams must not keep what one long line needed. */
static void test_memory_is_given_back(void **state)
{
    struct linebuf line = { 0 };
    struct buffer  run = { 0 };
    char           text[8192];

    (void)state;
    memset(text, 'x', sizeof text);
    linebuf_add(&line, text, sizeof text, &run);
    assert_true(line.held.room >= sizeof text);
    linebuf_add(&line, "\n", 1, &run);
    assert_int_equal(run.size, sizeof text + 1);
    assert_true(line.held.room <= 1024);
    linebuf_clear(&line);
    buffer_clear(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_nothing_complete_is_held),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_chunks_do_not_show),
        cmocka_unit_test(test_memory_is_given_back),
    };

    return cmocka_run_group_tests_name("linebuf", tests, NULL, NULL);
}
