/* test_shared_lines.c - an output that folds lines: labels, order, credit, what is no whole line
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "output/line_fold.h"
#include "output/linebuf.h"
#include "output/shared_lines.h"
#include "output_fixture.h"
#include "xalloc.h"

static int setup(void **state)
{
    struct fixture *f;

    if (output_setup(state) < 0)
        return -1;
    f = *state;
    f->settings.fold_lines = true;
    return 0;
}

/* Closes the output and reads all that was written; the caller frees. */
static char *read_all(struct fixture *f)
{
    struct pollfd ready = { .fd = f->out, .events = POLLIN };
    struct buffer seen = { 0 };
    ssize_t       got;

    output_close(f->output);
    while (output_unread(f->output) > 100) /* the writer counts a little after it has written */
        if (poll(&ready, 1, 10) == 1)
            read_more(f->out, &seen);
    assert_int_equal(output_finish(f->output, 10), 0);
    fcntl(f->out, F_SETFL, O_NONBLOCK);
    while ((got = read(f->out, buffer_reserve(&seen, 65537), 65536)) > 0)
        seen.size += (size_t)got;
    seen.bytes[seen.size] = '\0';
    return seen.bytes;
}

static void test_one_label(void **state)
{
    struct fixture *f = *state;

    start(f, hosts);
    say(f, 2, STREAM_STDOUT, "step 1\n");
    say(f, 0, STREAM_STDOUT, "step 1\nmine\n");
    say(f, 1, STREAM_STDOUT, "st");
    say(f, 1, STREAM_STDOUT, "ep 1\n");
    say(f, 3, STREAM_STDOUT, "step 1\n"); /* which is not shown */
    say(f, 1, STREAM_STDERR, "step 1\n");
    say(f, 0, STREAM_STDERR, "step 1\r\n");
    expect_nothing_more(f->out);
    assert_int_equal(output_waiting(f->output), 2 * 7 + 5 + 8);
    await_readable(f, f->out); /* by time alone */
    expect_read(f->out, "[0-2] step 1\nte0: mine\n");
    assert_int_equal(output_finish(f->output, 10), 0);
    expect_read(f->err, "te1: step 1\nte0: step 1\r\n");
    expect_nothing_more(f->out);
}

static void test_worlds(void **state)
{
    struct fixture *f = *state;

    f->world[1] = f->world[2] = 1;
    start(f, none);
    say(f, 0, STREAM_STDOUT, "a\n");
    say(f, 1, STREAM_STDOUT, "a\n");
    say(f, 2, STREAM_STDOUT, "a\n");
    assert_int_equal(output_finish(f->output, 10), 0);
    expect_read(f->out, "a\n[1-2] a\n");
}

/* Who has joined gets its credit at once, the lowest rank when the line is written. */
static void test_credit(void **state)
{
    struct fixture *f = *state;

    start(f, hosts);
    say(f, 1, STREAM_STDOUT, "12345\nabc");
    await_consumed(f, 1, 3); /* of the unfinished line */
    say(f, 2, STREAM_STDOUT, "12345\n");
    await_consumed(f, 2, 6);
    say(f, 0, STREAM_STDOUT, "12345\n");
    await_consumed(f, 1, 9);
    assert_int_equal(f->consumed[0], 0);
    await_consumed(f, 0, 6);
    say(f, 1, STREAM_STDOUT, "def\n");
    say(f, 0, STREAM_STDOUT, "abcdef\n");
    await_consumed(f, 1, 13);
    await_consumed(f, 0, 13);
    assert_int_equal(output_finish(f->output, 10), 0);
    expect_read(f->out, "[0-2] 12345\n[0-1] abcdef\n");
}

/* A bar, the end of a stream, and the pieces of a long line come behind what came before. */
static void test_no_whole_lines(void **state)
{
    struct fixture *f = *state;
    char           *many = xcalloc(LINEBUF_MAX + 10, 1), *seen, *wanted;

    start(f, hosts);
    say(f, 0, STREAM_STDOUT, "a\n");
    say(f, 1, STREAM_STDOUT, "b\n");
    say(f, 0, STREAM_STDOUT, "10%\r20%\rx");
    expect_read(f->out, "te0: a\nte0: 10%\rte0: 20%\r"); /* at once */
    say(f, 0, STREAM_STDOUT, "y\n");
    say(f, 1, STREAM_STDOUT, "end");
    output_end(f->output, 1, STREAM_STDOUT);
    expect_read(f->out, "\nte1: b\nte1: end\n");

    memset(many, 'x', LINEBUF_MAX + 5);
    many[LINEBUF_MAX + 5] = '\n';
    say(f, 2, STREAM_STDOUT, many);
    say(f, 0, STREAM_STDOUT, "xxxxx\n");
    many[LINEBUF_MAX] = '\0';
    wanted = xasprintf("te2: %s\nte2: \u2026xxxxx\nte0: xy\nte0: xxxxx\n", many);
    seen = read_all(f);
    assert_string_equal(seen, wanted);
    free(wanted);
    free(seen);
    free(many);
}

/* Four ranks that never stop: memory is bounded, nothing is lost, and each keeps its order. */
static void test_flood(void **state)
{
    struct fixture *f = *state;
    size_t          i, next[3] = { 0 };
    char            text[60], *seen, *line, *rest;
    int             rank;

    start(f, hosts);
    for (i = 0; i < 3 * LINE_FOLD_LINES; i++) {
        for (rank = 0; rank < 3; rank++) {
            snprintf(text, sizeof text, rank == 2 ? "own %zu\n" : "line %zu\n", i);
            say(f, rank, STREAM_STDOUT, text);
        }
        assert_true(output_waiting(f->output) - output_unread(f->output) < 4 * LINE_FOLD_BYTES);
    }
    seen = read_all(f);
    for (line = strtok_r(seen, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (sscanf(line, "[0-1] line %zu", &i) == 1) {
            assert_int_equal(i, next[0]);
            assert_int_equal(next[0]++, next[1]++);
        } else if (sscanf(line, "te2: own %zu", &i) == 1) {
            assert_int_equal(i, next[2]++);
        } else {
            fail_msg("%s", line);
        }
    }
    assert_int_equal(next[0], 3 * LINE_FOLD_LINES);
    assert_int_equal(next[2], 3 * LINE_FOLD_LINES);
    free(seen);
}

/* While the reader is stuck, labels cannot be forgotten: those beyond the limit come behind the
 * label of the lowest rank. Afterwards there is room again. */
static void test_many_labels(void **state)
{
    enum { SETS = 300, RANKS = 10 };
    struct fixture *f = *state;
    const size_t    size = 1000000;
    char           *many = xcalloc(size + 2, 1), *seen, *at, text[40], label[8];
    size_t          set, rank, own = 0, behind = 0;

    start(f, hosts);
    for (rank = 4; rank <= RANKS; rank++) {
        snprintf(label, sizeof label, "te%zu: ", rank);
        output_add_rank(f->output, (int)rank, 0, "te", label, true, NULL);
    }
    memset(many, 'x', size);
    many[size] = '\n';
    say(f, 0, STREAM_STDOUT, many);
    for (set = 1; set <= SETS; set++) {
        snprintf(text, sizeof text, "set %zu\n", set);
        say(f, 0, STREAM_STDOUT, text);
        for (rank = 1; rank <= RANKS; rank++) /* 3 is not shown */
            if (rank != 3 && (set >> (rank < 3 ? rank - 1 : rank - 2)) % 2 != 0)
                say(f, (int)rank, STREAM_STDOUT, text);
    }
    seen = read_all(f);
    for (at = seen; (at = strstr(at, "\n[0")) != NULL; at++)
        own++;
    for (at = seen; (at = strstr(at, "\nte0: [0")) != NULL; at++)
        behind++;
    assert_int_equal(own, SHARED_LABELS_MAX);
    assert_int_equal(behind, SETS - SHARED_LABELS_MAX);
    free(seen);
    free(many);
}

/* A rank that restarts on another node has another label; its old lines keep theirs. */
static void test_moves(void **state)
{
    struct fixture *f = *state;

    start(f, hosts);
    say(f, 0, STREAM_STDOUT, "old\n");
    say(f, 1, STREAM_STDOUT, "old\n");
    output_add_rank(f->output, 1, 2, "te2", "te2: ", true, NULL);
    say(f, 1, STREAM_STDOUT, "new\n");
    say(f, 1, STREAM_STDERR, "new\n");
    assert_int_equal(output_finish(f->output, 10), 0);
    expect_read(f->out, "[0-1] old\nte2: new\n");
    expect_read(f->err, "te2: new\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_label, setup, output_teardown),
        cmocka_unit_test_setup_teardown(test_worlds, setup, output_teardown),
        cmocka_unit_test_setup_teardown(test_credit, setup, output_teardown),
        cmocka_unit_test_setup_teardown(test_no_whole_lines, setup, output_teardown),
        cmocka_unit_test_setup_teardown(test_flood, setup, output_teardown),
        cmocka_unit_test_setup_teardown(test_many_labels, setup, output_teardown),
        cmocka_unit_test_setup_teardown(test_moves, setup, output_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
