/* test_stacks.c - who is asked where the ranks are, when the answer is complete, and who gets it
 *
 * The test plays the run directory and those who ask.
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

#include "exit_code.h"
#include "run/stacks.h"
#include "run_fixture.h"
#include "xalloc.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static char *written; /* contents of stacks.txt */

int run_dir_stacks(const struct run_dir *dir, const char *text, size_t size, const json_t *json,
                   struct error *err)
{
    (void)dir, (void)json, (void)err;
    free(written);
    written = xstrndup(size > 0 ? text : "", size);
    return 0;
}

static void known(struct run *of)
{
    assert_ptr_equal(of, &run);
    told("known;");
}

static void known_too(struct run *of)
{
    assert_ptr_equal(of, &run);
    told("known too;");
}

static void ask_again(struct run *of)
{
    told("again;");
    stacks_ask(of, known);
}

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    run_fixture_log();
    outcome_init(&run.outcome, &plan);
    run.dir.path = (char *)"/run";
    stacks_open(&run);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stacks_free(run.stacks);
    outcome_clear(&run.outcome);
    free(written);
    written = NULL;
    run_fixture_end();
    return 0;
}

static void asked(void)
{
    stacks_ask(&run, known);
    fake_expect(&fakes[0], FRAME_STACKS);
    fake_expect(&fakes[1], FRAME_STACKS);
}

/* text NULL: none. */
static void stack(size_t which, const char *text, bool is_end)
{
    json_t *body = text != NULL ? json_pack("{s:s}", "text", text) : json_object();

    if (is_end)
        json_object_set_new(body, "end", json_true());
    stacks_take(&run, &node[which], (uint32_t)which, body);
    json_decref(body);
}

static void expect_stacks(const char *text)
{
    struct error err;

    assert_int_equal(stacks_write(&run, NULL, &err), 0);
    assert_string_equal(written, text);
}

static int find_timer(const struct event_base *base, const struct event *event, void *arg)
{
    const struct event **found = arg;

    (void)base;
    if (event_pending(event, EV_TIMEOUT, NULL))
        *found = event;
    return 0;
}

/* The deadline comes now. */
static void time_passes(void)
{
    struct event *timer = NULL;

    event_base_foreach_event(run.base, find_timer, &timer);
    assert_non_null(timer);
    event_active(timer, EV_TIMEOUT, 1);
    run_fixture_turn(0.01);
}

static void test_all_answer(void **state)
{
    struct strlist lines = { 0 };
    struct error   err;

    (void)state;
    asked();
    stack(0, "main\n", false);
    stack(0, NULL, true);
    expect_told("");
    stack(1, "loop", true);
    expect_told("known;");
    expect_stacks("rank 0 on te1:\nmain\nrank 1 on te2:\nloop\n");
    strlist_add(&lines, "te1 cannot reach te2");
    assert_int_equal(stacks_write(&run, &lines, &err), 0);
    assert_string_equal(written, "te1 cannot reach te2\nrank 0 on te1:\nmain\n"
                                 "rank 1 on te2:\nloop\n");
    strlist_clear(&lines);
    run_fixture_turn(0.01);
    expect_told(""); /* no deadline is left */
}

/* Who asks while others wait gets the same answer, and each is called once. */
static void test_several_ask(void **state)
{
    (void)state;
    asked();
    stacks_ask(&run, known_too);
    stacks_ask(&run, known);
    fake_expect_none(&fakes[0]);
    stack(0, "main", true);
    stack(1, "main", true);
    expect_told("known;known too;");
    asked(); /* later it is another question */
    stack(0, "other", true);
    stack(1, "other", true);
    expect_told("known;");
    expect_stacks("ranks 0-1 on te[1-2]:\nother\n");
}

static void test_asks_in_the_answer(void **state)
{
    (void)state;
    stacks_ask(&run, ask_again);
    fake_expect(&fakes[0], FRAME_STACKS);
    fake_expect(&fakes[1], FRAME_STACKS);
    stack(0, "one", true);
    stack(1, "one", true);
    expect_told("again;");
    fake_expect(&fakes[0], FRAME_STACKS);
    fake_expect(&fakes[1], FRAME_STACKS);
    stack(0, "two", true);
    stack(1, "two", true);
    expect_told("known;");
}

/* Only nodes whose ranks run. If there are none, the answer comes at once, but later. */
static void test_who_is_asked(void **state)
{
    (void)state;
    run.outcome.ranks_left[0] = 0;
    assert_false(stacks_has_ranks(&run, 0));
    assert_true(stacks_has_ranks(&run, 1));
    stacks_ask(&run, known);
    fake_expect_none(&fakes[0]);
    fake_expect(&fakes[1], FRAME_STACKS);
    stack(1, "main", true);
    expect_told("known;");
    node[1].state = NODE_STAYING;
    assert_false(stacks_has_ranks(&run, 1));
    stacks_ask(&run, known);
    expect_told("");
    run_fixture_turn(0.05);
    expect_told("known;");
    expect_stacks("");
    expect_logged("");
}

/* A node that ends owes nothing any more, and is named. */
static void test_one_leaves(void **state)
{
    (void)state;
    asked();
    stack(0, "main", true);
    stacks_node_left(&run, &node[0]);
    expect_told("");
    stacks_node_left(&run, &node[1]);
    stacks_node_left(&run, &node[1]);
    expect_told("known;");
    expect_stacks("te2: gone before it answered\nrank 0 on te1:\nmain\n");
    stacks_node_left(&run, &node[0]); /* at other times this says nothing */
    expect_told("");
}

/* A silent node is named. What it answers at last is dropped; if there is another request before
 * that, it is asked once the old answer is complete. */
static void test_silent(void **state)
{
    (void)state;
    asked();
    stack(0, "main", true);
    time_passes();
    expect_told("known;");
    expect_stacks("te2: no answer within 15 s\nrank 0 on te1:\nmain\n");
    expect_logged("test: warning: * nodes did not report the stacks of their ranks within * s\n");

    stacks_ask(&run, known);
    fake_expect(&fakes[0], FRAME_STACKS);
    fake_expect_none(&fakes[1]);
    stack(0, "main", true);
    stack(1, "old", false);
    stack(1, NULL, true);
    expect_told("");
    fake_expect(&fakes[1], FRAME_STACKS);
    stack(1, "new", true);
    expect_told("known;");
    expect_stacks("rank 0 on te1:\nmain\nrank 1 on te2:\nnew\n");
}

static void test_nobody_has_asked(void **state)
{
    (void)state;
    node[0].state = NODE_DONE;
    stack(0, "late", true);
    assert_int_equal(node[0].state, NODE_DONE);
    stack(1, "main", true);
    assert_int_equal(node[1].state, NODE_FAILED);
    assert_int_equal(node[1].failure->exit_code, EXIT_PROTOCOL);
    expect_told("");
}

/* An agent that lies gets one text for each rank. */
static void test_many_texts(void **state)
{
    (void)state;
    asked();
    stack(0, "first", false);
    stack(0, "second", false);
    stack(0, "third", true);
    stack(1, NULL, true);
    expect_stacks("rank 0 on te1:\nfirst\n");
}

static void test_report(void **state)
{
    char  *many = xcalloc(1001, 1), *text;
    size_t size, i, count = 0;
    FILE  *out;

    (void)state;
    asked();
    memset(many, '\n', 1000);
    stack(0, many, true);
    stack(1, "the last", true);
    out = open_memstream(&text, &size);
    stacks_report(&run, out);
    fclose(out);
    for (i = 0; i < size; i++)
        count += text[i] == '\n';
    assert_int_equal(count, 402); /* 400, "and more", and where the rest is */
    assert_non_null(strstr(text, "  | rank 0 on te1:\n"));
    assert_non_null(strstr(text, "  | ... and more\nmuster: all stacks are in /run/stacks.txt\n"));
    free(text);
    free(many);
}

/* The last generation is forgotten; who waits for it is called. */
static void test_another_generation(void **state)
{
    (void)state;
    asked();
    stack(0, "main", true);
    stacks_again(&run);
    expect_told("known;");
    asked();
    stack(0, "main", true);
    stack(1, "main", true);
    expect_told("known;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_answer),     TEST(test_several_ask),  TEST(test_asks_in_the_answer),
        TEST(test_who_is_asked),   TEST(test_one_leaves),   TEST(test_silent),
        TEST(test_nobody_has_asked), TEST(test_many_texts), TEST(test_report),
        TEST(test_another_generation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
