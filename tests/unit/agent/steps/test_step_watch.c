/* test_step_watch.c - which output of a rank counts as steps
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

#include "steps/step_watch.h"
#include "xalloc.h"

static struct step_watch watch;
static int64_t           now_ns;

static int begin(void **state)
{
    (void)state;
    step_watch_begin(&watch, NULL);
    now_ns = 0;
    return 0;
}

static void add(const char *bytes)
{
    char *copy = xmemdup(bytes, strlen(bytes) + 1);

    step_watch_add(&watch, copy, strlen(bytes), false, ++now_ns);
    free(copy);
}

/* It has counted so many steps, this one last, when these bytes came. */
static void expect(uint64_t count, int64_t step, int64_t at_ns)
{
    assert_int_equal(watch.count, count);
    assert_int_equal(step_watch_step(&watch), step);
    assert_int_equal(watch.at_ns, at_ns);
}

static void test_lines(void **state)
{
    (void)state;
    expect(0, -1, 0);
    add("Map: loading\niter 0: loss 2, time 1ms\n");
    expect(1, 0, 1);
    add("iter 1: loss 2\niter 2: loss 2\nalive\n");
    expect(3, 2, 2);
    add("alive\niter 2: loss 2\n");
    expect(3, 2, 2);
    assert_int_equal(watch.form, STEP_FORM_NANOGPT);
}

/* Lines come in parts, and a bar never ends. */
static void test_parts(void **state)
{
    const char *line = "iter 7: loss 2\n";

    (void)state;
    for (; *line != '\0'; line++)
        add((char[]){ *line, '\0' });
    expect(1, 7, 13);
    add("\r  1%|  | 1/100 [00:01<01:39,");
    expect(2, 7, 16);
    add("  1.00s/it]");
    add("\r  2%|  | 2/100 [00:02<01:38,  1.00s/it]");
    expect(3, 7, 18);
    add("\r  2%|  | 2/100 [00:05<01:38,  1.00s/it]"); /* it is drawn again, and nothing was done */
    expect(3, 7, 18);
}

/* The number shown is that of the most exact form; all forms count. */
static void test_forms(void **state)
{
    (void)state;
    add(" 50%|  | 500/1000 [00:01<00:01, 500it/s]\n");
    expect(1, 500, 1);
    add("step=10, skipped=0, lr=\n");
    expect(2, 10, 2);
    add("  1%|  | 1/100 [00:01<00:01, 1it/s]\n");
    expect(3, 10, 3);
    assert_int_equal(watch.form, STEP_FORM_DEEPSPEED);
}

/* At the end of a training, or of a part of it, nothing more has to come. */
static void test_last(void **state)
{
    (void)state;
    add("step 9/10  loss 1\n");
    assert_false(watch.is_last);
    add("step 10/10  loss 1\n");
    assert_true(watch.is_last);
    add("iter 11: loss 1\n");
    assert_false(watch.is_last);
    add("11/? [00:01<?, ?it/s]\n");
    assert_false(watch.is_last);
}

/* The end of a large read. */
static void flood(const char *end, int64_t at_ns)
{
    step_watch_add(&watch, end - STEP_WATCH_READ_MAX, STEP_WATCH_READ_MAX, true, at_ns);
}

/* A rank that floods: the end of each read counts. */
static void test_flood(void **state)
{
    size_t size = 200000, used = 0;
    char  *bytes = xmalloc(size + 100);
    int    step = 0;

    (void)state;
    while (used < size)
        used += (size_t)sprintf(bytes + used, "iter %d: loss 2\n", step++);
    flood(bytes + used, 1);
    assert_int_equal(step_watch_step(&watch), step - 1);
    assert_true(watch.count < STEP_WATCH_READ_MAX / 10);
    memset(bytes, 'x', size);
    flood(bytes + size, 2);
    step_watch_add(&watch, "\niter 9: loss 1\n", 16, false, 3);
    expect(watch.count, 9, 3);
    free(bytes);
}

/* The number may not be cut where a read is cut. */
static void test_cut(void **state)
{
    char *bytes = xmalloc(STEP_WATCH_READ_MAX);

    (void)state;
    memset(bytes, ' ', STEP_WATCH_READ_MAX);
    memcpy(bytes, "1112/9999 [00:01<00:01, 1it/s]\n", 31);
    flood(bytes + STEP_WATCH_READ_MAX, 1);
    expect(0, -1, 0);
    free(bytes);
}

static void begin_pattern(regex_t **pattern, const char *text)
{
    struct error err;

    step_pattern_free(*pattern);
    *pattern = step_pattern_new(text, &err);
    assert_non_null(*pattern);
    step_watch_begin(&watch, *pattern);
}

static void test_pattern(void **state)
{
    struct error err;
    regex_t     *pattern = NULL;

    (void)state;
    begin_pattern(&pattern, "batch ([0-9]+) of");
    add("iter 1: loss 2\nbatch 12 of 100\n");
    expect(1, 12, 1);
    add("batch 12 of 100\nbatch x of 100\n");
    expect(1, 12, 1);
    add("batch 12345678901234567 of 100\n");
    expect(1, 12, 1);
    add("1 batch 13 of 100");
    expect(2, 13, 4);
    assert_string_equal(step_watch_form(&watch), "--progress");
    begin_pattern(&pattern, "^done");
    add("done\ndone\nundone\n");
    expect(2, -1, 5);
    add("done");
    add(" at last");
    expect(2, -1, 5);
    add("\nall is done\r");
    expect(3, -1, 8); /* it begins with "done", and was not counted before */
    step_pattern_free(pattern);
    assert_null(step_pattern_new("a(b", &err));
    assert_non_null(strstr(err.text, "'a(b' is not an extended regular expression: "));
}

/* A rank's bar is on stderr, and its log lines on stdout. */
static void test_two_streams(void **state)
{
    struct step_watch bar;

    (void)state;
    step_watch_begin(&bar, NULL);
    step_watch_add(&bar, "2/9 [00:01<00:01, 1it/s]", 24, false, 7);
    assert_ptr_equal(step_watch_more_exact(&watch, &bar), &bar);
    assert_ptr_equal(step_watch_more_exact(&bar, &watch), &bar);
    add("iter 1: loss 2\n");
    assert_ptr_equal(step_watch_more_exact(&watch, &bar), &watch);
    assert_ptr_equal(step_watch_more_exact(&bar, &watch), &watch);
    assert_string_equal(step_watch_form(&watch), "nanoGPT");
}

/* A rank that calls muster.step(). */
static void test_call(void **state)
{
    (void)state;
    step_watch_call(&watch, 0, -1, 1);
    expect(1, 0, 1);
    step_watch_call(&watch, 0, -1, 2); /* no step was done */
    expect(1, 0, 1);
    step_watch_call(&watch, 9, 9, 3);
    expect(2, 9, 3);
    assert_true(watch.is_last);
    assert_string_equal(step_watch_form(&watch), "muster.step()");
}

/* How long ranks saved, it shows. */
static void test_before(void **state)
{
    int i;

    (void)state;
    assert_int_equal(step_watch_before(&watch, 100), -1);
    for (i = 0; i < 10; i++)
        step_watch_call(&watch, i, -1, 10 * (i + 1));
    assert_int_equal(step_watch_before(&watch, 9), -1);
    assert_int_equal(step_watch_before(&watch, 10), 10);
    assert_int_equal(step_watch_before(&watch, 59), 50);
    assert_int_equal(step_watch_before(&watch, 1000), 100);
    for (; i < 10 + STEP_WATCH_RECENT; i++)
        step_watch_call(&watch, i, -1, 10 * (i + 1));
    assert_int_equal(step_watch_before(&watch, 109), -1); /* too many have followed */
    assert_int_equal(step_watch_before(&watch, 110), 110);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lines, begin),
        cmocka_unit_test_setup(test_parts, begin),
        cmocka_unit_test_setup(test_forms, begin),
        cmocka_unit_test_setup(test_last, begin),
        cmocka_unit_test_setup(test_flood, begin),
        cmocka_unit_test_setup(test_cut, begin),
        cmocka_unit_test_setup(test_pattern, begin),
        cmocka_unit_test_setup(test_two_streams, begin),
        cmocka_unit_test_setup(test_call, begin),
        cmocka_unit_test_setup(test_before, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
