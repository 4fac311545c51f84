/* test_line_fold.c - which lines become one, in which order they come, and what memory they take
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

#include "buffer.h"
#include "clock.h"
#include "number.h"
#include "output/line_fold.h"
#include "xalloc.h"

static struct line_fold *fold;

static int set_up(void **state)
{
    (void)state;
    fold = line_fold_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    line_fold_free(fold);
    return 0;
}

/* True: it has joined another line. Each line has its size as its charge. */
static bool add(int rank, int kind, const char *text, struct rank_line *back)
{
    const struct rank_line line = { rank, kind, text, strlen(text), strlen(text) };

    return line_fold_add(fold, &line, 0, back);
}

static void take_all(const char *wanted)
{
    struct buffer      text = { 0 };
    struct folded_line line;

    while (line_fold_holds_any(fold)) {
        line = line_fold_take(fold);
        buffer_add_text(&text, "[");
        number_add_ranges(&text, line.rank, line.ranks, 0);
        buffer_add_text(&text, "] ");
        buffer_add(&text, line.text, line.size);
        folded_line_clear(&line);
    }
    buffer_add(&text, "", 1);
    assert_string_equal(text.bytes, wanted);
    assert_int_equal(line_fold_bytes(fold), 0);
    buffer_clear(&text);
}

/* "0a 1a 2b": these ranks write these lines. */
static void test_table(void **state)
{
    static const struct {
        const char *lines, *wanted;
    } rows[] = {
        { "", "" },
        { "0a", "[0] a" },
        { "2a 0a 1a", "[0-2] a" },
        { "0a 1b 2a", "[0,2] a[1] b" },
        { "0a 0a", "[0] a[0] a" },
        { "0a 0b 1a 1b 2a 2b", "[0-2] a[0-2] b" },
        { "0a 0b 0a 0b 1a 1b 1a 1b", "[0-1] a[0-1] b[0-1] a[0-1] b" },
        /* what a rank says between does not keep the others apart */
        { "0a 1a 0x 0b 1b", "[0-1] a[0] x[0-1] b" },
        { "0a 1x 1a", "[0] a[1] x[1] a" }, /* its a must not come before its x */
        { "1x 0a 1a", "[1] x[0-1] a" },
        { "0b 0a 1a 1b", "[0] b[0-1] a[1] b" },
        { "0a 0b 0c 1c 1a", "[0] a[0] b[0-1] c[1] a" },
        { "0a 0a 0a 1a 2a 2a", "[0-2] a[0,2] a[0] a" },
    };
    struct rank_line back;
    char             text[2] = "";
    const char      *at;
    size_t           i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (at = rows[i].lines; *at != '\0'; at += at[2] == ' ' ? 3 : 2) {
            text[0] = at[1];
            add(at[0] - '0', 0, text, &back);
        }
        take_all(rows[i].wanted);
    }
}

/* Lines of different kinds, and lines that only begin alike, are different. */
static void test_kinds(void **state)
{
    struct rank_line back;

    (void)state;
    assert_false(add(0, 0, "a\n", &back));
    assert_false(add(1, 1, "a\n", &back));
    assert_false(add(2, 0, "a\r\n", &back));
    assert_false(add(3, 0, "a", &back));
    assert_true(add(4, 1, "a\n", &back));
    take_all("[0] a\n[1,4] a\n[2] a\r\n[3] a");
}

static void test_bytes(void **state)
{
    const struct rank_line one = { 0, 0, "a\0b\n", 4, 4 }, two = { 1, 0, "a\0c\n", 4, 4 };
    struct rank_line       back;
    struct folded_line     line;

    (void)state;
    assert_false(line_fold_add(fold, &one, 0, &back));
    assert_false(line_fold_add(fold, &two, 0, &back));
    line = line_fold_take(fold);
    assert_int_equal(line.size, 4);
    assert_memory_equal(line.text, "a\0b\n", 4);
    folded_line_clear(&line);
}

/* The lowest rank keeps its credit until the line is written; the others have theirs back. */
static void test_charge(void **state)
{
    const struct rank_line low = { 1, 0, "a", 1, 10 }, high = { 7, 0, "a", 1, 70 };
    const struct rank_line middle = { 4, 0, "a", 1, 40 };
    struct rank_line       back;
    struct folded_line     line;

    (void)state;
    assert_false(line_fold_add(fold, &middle, 0, &back));
    assert_true(line_fold_add(fold, &high, 0, &back));
    assert_int_equal(back.rank, 7);
    assert_int_equal(back.charge, 70);
    assert_true(line_fold_add(fold, &low, 0, &back));
    assert_int_equal(back.rank, 4);
    assert_int_equal(back.charge, 40);
    line = line_fold_take(fold);
    assert_int_equal(line.charge, 10);
    assert_int_equal(line.rank[0], 1);
    folded_line_clear(&line);
}

static void test_holds(void **state)
{
    struct rank_line   back;
    struct folded_line line;

    (void)state;
    assert_false(line_fold_holds(fold, 0) || line_fold_holds_any(fold));
    add(5, 0, "a", &back);
    add(0, 0, "b", &back);
    add(5, 0, "c", &back);
    assert_true(line_fold_holds(fold, 0) && line_fold_holds(fold, 5));
    assert_false(line_fold_holds(fold, 1) || line_fold_holds(fold, 100));
    assert_int_equal(line_fold_bytes(fold), 3);
    line = line_fold_take(fold);
    folded_line_clear(&line);
    line = line_fold_take(fold);
    folded_line_clear(&line);
    assert_true(line_fold_holds(fold, 5) && !line_fold_holds(fold, 0));
    add(0, 0, "c", &back); /* it joins what it has not overtaken */
    take_all("[0,5] c");
    assert_false(line_fold_holds(fold, 5));
}

static void test_due(void **state)
{
    const struct rank_line one = { 0, 0, "a", 1, 0 }, other = { 1, 0, "a", 1, 0 };
    struct rank_line       back;

    (void)state;
    line_fold_add(fold, &one, 1000, &back);
    line_fold_add(fold, &other, NS_PER_S, &back);
    assert_int_equal(line_fold_due_ns(fold), 1000 + NS_PER_S / 5); /* of the first one */
}

/* It is full beyond any of its limits, and no longer once the first lines have been taken. */
static void test_full(void **state)
{
    struct rank_line back;
    char            *many = xcalloc(LINE_FOLD_BYTES + 2, 1), text[20];
    size_t           i;

    (void)state;
    for (i = 0; i < LINE_FOLD_LINES; i++)
        add(0, 0, "x", &back);
    assert_false(line_fold_is_full(fold));
    add(0, 0, "x", &back);
    assert_true(line_fold_is_full(fold));
    line_fold_free(fold);

    fold = line_fold_new();
    memset(many, 'x', LINE_FOLD_BYTES + 1);
    add(0, 0, many, &back);
    assert_true(line_fold_is_full(fold));
    line_fold_free(fold);
    free(many);

    fold = line_fold_new();
    for (i = 0; i < LINE_FOLD_MEMBERS; i++) {
        snprintf(text, sizeof text, "%zu", i / 1000);
        assert_false(line_fold_is_full(fold));
        add((int)(i % 1000), 0, text, &back);
    }
    add(2000, 0, "another", &back);
    assert_true(line_fold_is_full(fold));
}

/* Many ranks say the same words in the same order, some of them more, and each at its own pace:
 * each rank's lines are all there, in order, whatever has joined. */
static void test_random(void **state)
{
    enum { RANKS = 40, LINES = 200 };
    static char said[RANKS][LINES + 1], shown[RANKS][2 * LINES];
    size_t      count[RANKS] = { 0 }, at[RANKS] = { 0 }, i, taken = 0, joined = 0;
    uint32_t    seed = 7;
    char        text[2] = "";
    struct rank_line   back;
    struct folded_line line;

    (void)state;
    for (i = 0; i < (size_t)RANKS * LINES * 2; i++) {
        int rank, kind;

        seed = seed * 1664525u + 1013904223u;
        rank = (int)((seed >> 16) % RANKS);
        kind = (int)((seed >> 8) % 50 == 0);
        if (at[rank] < LINES) {
            text[0] = kind ? 'z' : (char)('a' + at[rank] * 7 % 13);
            said[rank][at[rank]++] = text[0];
            joined += add(rank, 0, text, &back);
        }
        while ((seed >> 4) % 900 == 0 && line_fold_holds_any(fold)) {
            line = line_fold_take(fold);
            for (size_t k = 0; k < line.ranks; k++)
                shown[line.rank[k]][count[line.rank[k]]++] = line.text[0];
            taken++;
            folded_line_clear(&line);
            if (taken % 50 == 0)
                break;
        }
    }
    while (line_fold_holds_any(fold)) {
        line = line_fold_take(fold);
        for (size_t k = 0; k < line.ranks; k++)
            shown[line.rank[k]][count[line.rank[k]]++] = line.text[0];
        folded_line_clear(&line);
    }
    for (i = 0; i < RANKS; i++)
        assert_string_equal(shown[i], said[i]);
    assert_true(joined > (size_t)RANKS * LINES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_charge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_holds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_due, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
