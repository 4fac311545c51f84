/* test_display.c - what lines look like: sanitize.c, display.c, tail.c, fold.c
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

#include <cmocka.h>

#include "output/display.h"
#include "output/fold.h"
#include "output/tail.h"
#include "sanitize.h"
#include "xalloc.h"

#define ERASE "\r\033[K"

static const struct timespec noon = { .tv_sec = 12 * 3600, .tv_nsec = 34000000 };

static void expect_text(struct buffer *out, const char *text)
{
    buffer_add(out, "", 1);
    assert_string_equal(out->bytes, text);
    assert_int_equal(out->size, strlen(text) + 1);
    buffer_clear(out);
}

static void expect_visible(const char *text, size_t size, const char *shown)
{
    char *made = sanitize_output(text, size);

    assert_string_equal(made, shown);
    free(made);
}

/* In a name a colour might hide what follows it. */
static void test_names_have_no_colours(void **state)
{
    static const struct {
        const char *text;
        const char *shown;
    } rows[] = {
        { "caf\xc3\xa9", "caf\xc3\xa9" },
        { "\033[31mred\033[0m", "^[[31mred^[[0m" },
        { "\033[8mhidden", "^[[8mhidden" },
        { "\033[2J", "^[[2J" },
    };
    struct buffer out = { 0 };
    size_t        i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *made = sanitize_text(rows[i].text, strlen(rows[i].text));

        assert_string_equal(made, rows[i].shown);
        free(made);
    }
    sanitize_add(&out, "\033[31mred", 8, 4);
    expect_text(&out, "^[[3");
}

static void test_visible(void **state)
{
    static const struct {
        const char *text;
        const char *shown;
    } rows[] = {
        { "", "" },
        { "plain text", "plain text" },
        { "a\tb", "a\tb" },
        { "caf\xc3\xa9 \xe2\x96\x88 \xf0\x9f\x98\x80",
          "caf\xc3\xa9 \xe2\x96\x88 \xf0\x9f\x98\x80" },
        /* colours pass, and do not leak into the next line */
        { "\033[31mred\033[0m", "\033[31mred\033[0m" },
        { "\033[1;38:5:208mred", "\033[1;38:5:208mred\033[0m" },
        { "\033[31mred\033[m", "\033[31mred\033[m" },
        /* all else that a terminal would act on */
        { "\033[2J\033[H", "^[[2J^[[H" },
        { "\033]0;title\a", "^[]0;title^G" },
        { "\033]52;c;ZWNobw==\033\\", "^[]52;c;ZWNobw==^[\\" },
        { "\033[6n\033c\033[31", "^[[6n^[c^[[31" },
        { "\033[?25l\033[>1m\033[=1m", "^[[?25l^[[>1m^[[=1m" },
        { "a\bb\177\r\n\001", "a^Hb^?^M^J^A" },
        { "\xc2\x9b" "31m\xc2\x85", "\\u009b31m\\u0085" },
        /* not UTF-8: orphan, cut short, overlong, surrogate, beyond the last */
        { "\x9b" "2J", "\\x9b2J" },
        { "\xe2\x96", "\\xe2\\x96" },
        { "\xc0\xaf\xc1\xbf", "\\xc0\\xaf\\xc1\\xbf" },
        { "\xe0\x80\x9b", "\\xe0\\x80\\x9b" },
        { "\xed\xa0\x80", "\\xed\\xa0\\x80" },
        { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
        { "\xff\xfe", "\\xff\\xfe" },
    };
    char   long_colour[200];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_visible(rows[i].text, strlen(rows[i].text), rows[i].shown);
    expect_visible("a\0b", 3, "a^@b");

    memset(long_colour, '1', sizeof long_colour);
    memcpy(long_colour, "\033[", 2);
    long_colour[sizeof long_colour - 1] = 'm';
    {
        char *made = sanitize_output(long_colour, sizeof long_colour);

        assert_memory_equal(made, "^[[", 3);
        free(made);
    }
}

static void test_visible_is_cut_to_columns(void **state)
{
    static const struct {
        const char *text;
        size_t      columns;
        const char *shown;
    } rows[] = {
        { "12345", 5, "12345" },
        { "123456", 5, "12345" },
        { "\033[31m123456", 5, "\033[31m12345\033[0m" },
        { "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88", 2, "\xe2\x96\x88\xe2\x96\x88" },
        { "\xe4\xb8\xad\xe4\xb8\xad", 3, "\xe4\xb8\xad" }, /* two columns each */
        { "a\tb", 8, "a\t" },
        { "a\tb", 7, "a" },
        { "1234\033[2J", 5, "1234" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer out = { 0 };

        sanitize_add_output(&out, rows[i].text, strlen(rows[i].text), rows[i].columns);
        expect_text(&out, rows[i].shown);
    }
}

static struct source source_of(const char *label, bool is_timed)
{
    return (struct source){ .label = label, .label_size = strlen(label), .is_timed = is_timed };
}

static void run(struct display *display, struct source *source, const char *text,
                struct buffer *out)
{
    display_run(display, source, &noon, text, strlen(text), out);
}

static void test_pipe(void **state)
{
    struct source  one = source_of("te1: ", false), two = source_of("te2: ", false);
    struct display display;
    struct buffer  out = { 0 };

    (void)state;
    display_init(&display, false);
    run(&display, &one, "a\n\nb\r\n", &out);
    expect_text(&out, "te1: a\nte1: \nte1: b\r\n");
    run(&display, &one, "piece", &out);
    expect_text(&out, "te1: piece\n");
    run(&display, &two, "a\n", &out);
    run(&display, &one, " of a line\nb\n", &out);
    expect_text(&out, "te2: a\nte1: \u2026 of a line\nte1: b\n");

    /* bars stay bars, and nobody else's line joins one */
    run(&display, &one, "1%\r2%\r", &out);
    expect_text(&out, "te1: 1%\rte1: 2%\r");
    run(&display, &one, "3%\r", &out);
    expect_text(&out, "te1: 3%\r");
    run(&display, &two, "loss\n", &out);
    expect_text(&out, "\nte2: loss\n");
    run(&display, &one, "4%\r", &out);
    display_own(&display, "muster: x\n", 10, &out);
    expect_text(&out, "te1: 4%\r\nmuster: x\n");
    run(&display, &two, "5%\r", &out);
    display_end(&display, &out);
    expect_text(&out, "te2: 5%\r\n");

    /* nothing that is for terminals only */
    display_progress(&display, "connecting", &out);
    display_unfinished(&display, &one, &noon, "prompt", 6, &out);
    run(&display, &one, "\033[2J\n", &out);
    expect_text(&out, "te1: \033[2J\n");
    display_clear(&display);
}

static void test_pipe_without_label(void **state)
{
    struct source  one = source_of("", false), two = source_of("", false);
    struct display display;
    struct buffer  out = { 0 };

    (void)state;
    display_init(&display, false);
    display_run(&display, &one, &noon, "\0\xff\r1%\r", 6, &out);
    display_run(&display, &one, &noon, "2%\r", 3, &out);
    assert_int_equal(out.size, 9);
    assert_memory_equal(out.bytes, "\0\xff\r1%\r2%\r", 9);
    out.size = 0;
    run(&display, &two, "a\r\n", &out);
    run(&display, &one, "no end", &out);
    display_end(&display, &out);
    expect_text(&out, "\na\r\nno end");

    /* nor does the last line of one join one of another */
    run(&display, &one, "no end", &out);
    run(&display, &two, "a\n", &out);
    expect_text(&out, "no end\na\n");
    display_clear(&display);
}

static void test_terminal(void **state)
{
    struct source  one = source_of("te1: ", false), two = source_of("te2: ", false);
    struct display display;
    struct buffer  out = { 0 };

    (void)state;
    display_init(&display, true);
    run(&display, &one, "a\r\n\033[2J\n", &out);
    expect_text(&out, "te1: a\nte1: ^[[2J\n");
    run(&display, &one, "piece", &out);
    run(&display, &one, "s\nb\n", &out);
    expect_text(&out, "te1: piece\nte1: \u2026s\nte1: b\n");

    /* of several redraws only the last; the next line takes its place */
    run(&display, &one, "1%\r2%\r", &out);
    expect_text(&out, "te1: 2%");
    run(&display, &one, "3%\r", &out);
    expect_text(&out, ERASE "te1: 3%");
    run(&display, &two, "loss\n", &out);
    expect_text(&out, ERASE "te2: loss\n");
    run(&display, &one, "99%\r100%\n", &out);
    expect_text(&out, "te1: 100%\n");

    /* a bar wider than the screen would wrap and could not be erased */
    display.columns = 10;
    run(&display, &one, "123456789\r", &out);
    expect_text(&out, "te1: 1234");
    display_own(&display, "muster: longer than that\n", 25, &out);
    expect_text(&out, ERASE "muster: longer than that\n");

    display_unfinished(&display, &two, &noon, "ok?", 3, &out);
    expect_text(&out, "te2: ok?");
    run(&display, &two, "ok? yes\n", &out);
    expect_text(&out, ERASE "te2: ok? yes\n");

    display.columns = 80;
    display_progress(&display, "connecting 1/2", &out);
    display_progress(&display, "connecting 2/2", &out);
    display_progress(&display, "", &out);
    expect_text(&out, "connecting 1/2" ERASE "connecting 2/2" ERASE);
    display_progress(&display, "", &out);
    expect_text(&out, "");
    display_progress(&display, "leaving", &out);
    display_end(&display, &out);
    expect_text(&out, "leaving" ERASE);
    display_clear(&display);
}

/* A rank with a terminal of its own: its bytes pass, and others begin below them. */
static void test_raw(void **state)
{
    struct display display;
    struct source  shell = { .label = "", .is_raw = true }, other = { .label = "a: ",
                                                                      .label_size = 3 };
    struct buffer  out = { 0 };

    (void)state;
    display_init(&display, true);
    run(&display, &other, "one\n", &out);
    expect_text(&out, "a: one\n");
    display_unfinished(&display, &other, &noon, "half", 4, &out);
    run(&display, &shell, "\033[2J$ ", &out);
    expect_text(&out, "a: half" ERASE "\033[2J$ ");
    run(&display, &shell, "ls", &out);
    run(&display, &other, "two\033[2J\nthree\n", &out);
    expect_text(&out, "ls\r\na: two^[[2J\r\na: three\r\n");
    run(&display, &shell, "\r\n", &out);
    display_own(&display, "muster: x\n", 10, &out);
    expect_text(&out, "\r\nmuster: x\r\n");
    run(&display, &shell, "$ ", &out);
    display_end(&display, &out);
    expect_text(&out, "$ \r\n");
    display_clear(&display);

    display_init(&display, false);
    run(&display, &shell, "\033[2J$ ", &out);
    run(&display, &other, "two\n", &out);
    expect_text(&out, "\033[2J$ \na: two\n");
    display_clear(&display);
}

static void test_times(void **state)
{
    struct source  one = source_of("te1: ", true), none = source_of("", true);
    struct display display;
    struct buffer  out = { 0 };

    (void)state;
    setenv("TZ", "UTC", 1);
    display_init(&display, false);
    run(&display, &one, "a\nb\n", &out);
    run(&display, &none, "c", &out);
    expect_text(&out, "te1: 12:00:00.034 a\nte1: 12:00:00.034 b\n12:00:00.034 c\n");
    display_clear(&display);
}

static void count_and_empty(struct buffer *out, void *arg)
{
    size_t *most = arg;

    if (out->size > *most)
        *most = out->size;
    out->size = 0;
}

/* A megabyte of empty lines behind a long label would be a hundred of them. */
static void test_out_is_emptied_on_the_way(void **state)
{
    char           label[201], *lines = xmalloc(100000);
    struct display display;
    struct buffer  out = { 0 };
    struct source  one;
    size_t         most = 0;

    (void)state;
    memset(label, 'n', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    memset(lines, '\n', 100000);
    one = source_of(label, false);
    display_init(&display, false);
    display.full = count_and_empty;
    display.arg = &most;
    display_run(&display, &one, &noon, lines, 100000, &out);
    assert_in_range(most, DISPLAY_FULL, DISPLAY_FULL + sizeof label + 1);
    assert_true(out.room < 4 * DISPLAY_FULL);
    buffer_clear(&out);
    free(lines);
    display_clear(&display);
}

static char *tail_text(const struct tail *tail, size_t count)
{
    struct strlist lines = { 0 };
    struct buffer  text = { 0 };
    size_t         i;

    tail_lines(tail, count, &lines);
    for (i = 0; i < lines.count; i++) {
        buffer_add_text(&text, lines.item[i]);
        buffer_add_text(&text, "|");
    }
    buffer_add(&text, "", 1);
    strlist_clear(&lines);
    return text.bytes;
}

static void expect_tail(const struct tail *tail, size_t count, const char *text)
{
    char *seen = tail_text(tail, count);

    assert_string_equal(seen, text);
    free(seen);
}

static void test_tail(void **state)
{
    struct tail tail = { 0 };
    char       *seen, line[64], *large;
    int         i;

    (void)state;
    expect_tail(&tail, 3, "");
    tail_add(&tail, false, "out1\nout2\n", 10);
    expect_tail(&tail, 3, "out1|out2|");
    tail_add(&tail, true, "1%\r2%\rer", 8);
    expect_tail(&tail, 3, "er|");
    tail_add(&tail, true, "r1\nerr2\n\033[2Jerr3\nlast", 21);
    expect_tail(&tail, 3, "err2|^[[2Jerr3|last|");
    tail_add(&tail, false, "too late\n", 9);
    expect_tail(&tail, 1, "last|");
    tail_clear(&tail);

    tail = (struct tail){ 0 };
    for (i = 0; i < 5000; i++) {
        snprintf(line, sizeof line, "line number %d\n", i);
        tail_add(&tail, true, line, strlen(line));
        assert_true(tail.text.size <= 2 * TAIL_BYTES);
    }
    expect_tail(&tail, 2, "line number 4998|line number 4999|");
    seen = tail_text(&tail, 100000);
    assert_true(strlen(seen) <= TAIL_BYTES);
    assert_memory_equal(seen, "line number ", 12);
    free(seen);
    tail_clear(&tail);

    /* one line that is longer than the tail */
    tail = (struct tail){ 0 };
    large = xmalloc(100000);
    memset(large, 'x', 100000);
    tail_add(&tail, true, large, 100000);
    seen = tail_text(&tail, 5);
    assert_int_equal(strlen(seen), TAIL_BYTES + 1);
    free(seen);
    free(large);
    tail_clear(&tail);
}

static void test_fold(void **state)
{
    static const struct fold_item items[] = {
        { "node01", "same\n", 5 }, { "node02", "other", 5 },  { "node03", "same\n", 5 },
        { "node04", NULL, 0 },     { "node05", "same\n", 5 }, { "node06", "samE\n", 5 },
    };
    struct buffer out = { 0 };

    (void)state;
    fold_write(items, sizeof items / sizeof *items, &out);
    expect_text(&out, "---------------\nnode[01,03,05] (3)\n---------------\nsame\n"
                      "---------------\nnode02\n---------------\nother\n"
                      "---------------\nnode06\n---------------\nsamE\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visible),
        cmocka_unit_test(test_names_have_no_colours),
        cmocka_unit_test(test_visible_is_cut_to_columns),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_pipe_without_label),
        cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_out_is_emptied_on_the_way),
        cmocka_unit_test(test_tail),
        cmocka_unit_test(test_fold),
    };

    return cmocka_run_group_tests_name("display", tests, NULL, NULL);
}
