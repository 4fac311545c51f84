/* test_orphan_cleanup.c - a second agent looks what the first one has left
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
#include "fake_conn.h"

struct fixture {
    struct fake_node fake; /* first, as fake_conn.c casts arg to it */
    int              calls, ended, left;
    char             text[2000];
};

static void over_cb(struct node *node, const struct orphan_cleanup_result *result, void *arg)
{
    struct fixture *f = arg;

    assert_ptr_equal(node, &f->fake.node);
    f->calls++;
    f->ended = result->ended;
    f->left = result->left;
    snprintf(f->text, sizeof f->text, "%s", result->text);
}

/* The node is lost, and its cleanup has dialled. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    char            run_id[] = "r";

    fake_node_begin(&f->fake);
    node_fail(&f->fake.node, "running", EXIT_LOST, NULL, "gone");
    orphan_cleanup_start(&f->fake.node, run_id, over_cb, f);
    run_id[0] = 'x'; /* the plan that it is of goes when the world changes */
    fake_node_turn(&f->fake, 0.02);
    assert_int_equal(fakes_made, 2);
    assert_true(fakes[1].is_started);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    fake_node_end(&f->fake);
    free(f);
    return 0;
}

static void expect(struct fixture *f, int ended, int left, const char *text)
{
    assert_int_equal(f->calls, 1);
    assert_int_equal(f->ended, ended);
    assert_int_equal(f->left, left);
    assert_string_equal(f->text, text);
    assert_null(f->fake.node.cleanup);
    assert_true(fakes[1].is_freed);
}

static void greet(void)
{
    json_t     *body;
    const char *run;
    json_int_t  pid, start;
    int         kill, orphans;

    fakes[1].conn.ops->open(fakes[1].conn.arg);
    fake_say(&fakes[1], FRAME_HELLO, json_pack("{s:i}", "protocol", FRAME_PROTOCOL));
    body = fake_expect(&fakes[1], FRAME_CLEAN);
    assert_int_equal(json_unpack(body, "{s:s, s:b, s:b, s:{s:I, s:I}}", "run", &run, "kill", &kill,
                                 "orphans", &orphans, "agent", "pid", &pid, "start", &start), 0);
    assert_string_equal(run, "r");
    assert_true(kill && orphans);
    assert_int_equal(pid, 71); /* of the first agent, from its HELLO */
    assert_int_equal(start, 72);
    json_decref(body);
}

static json_t *process(int pid, const char *command, bool gone)
{
    return json_pack("{s:i, s:s, s:b}", "pid", pid, "command", command, "gone", (int)gone);
}

static void find(json_t *processes)
{
    fake_say(&fakes[1], FRAME_CLEANED, json_pack("{s:o}", "processes", processes));
}

static void test_nothing(void **state)
{
    greet();
    find(json_array());
    json_decref(fake_expect(&fakes[1], FRAME_STOP));
    assert_int_equal(((struct fixture *)*state)->calls, 0); /* the agent must leave first */
    fake_close(&fakes[1], NULL, false);
    expect(*state, 0, 0, "nothing of the run was left");
}

static void test_ended(void **state)
{
    greet();
    find(json_pack("[o, o]", process(12, "sleep 60", true), process(13, "python3 x.py", true)));
    fake_close(&fakes[1], NULL, false);
    expect(*state, 2, 0,
           "2 processes of the run had to be killed: pid 12 (sleep 60), "
           "pid 13 (python3 x.py)");
}

/* Those that are left are named, and of many only the first. */
static void test_left(void **state)
{
    json_t *processes = json_array();
    int     i;

    json_array_append_new(processes, process(1, "gone", true));
    for (i = 10; i < 16; i++)
        json_array_append_new(processes, process(i, "stuck", false));
    greet();
    find(processes);
    fake_close(&fakes[1], "muster-agent was killed", false);
    expect(*state, 1, 6,
           "6 processes of the run could not be killed: pid 10 (stuck), pid 11 (stuck), "
           "pid 12 (stuck), pid 13 (stuck) ...");
}

static void test_long_names(void **state)
{
    json_t *processes = json_array();
    char    name[5000];
    int     i;

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (i = 0; i < 100; i++)
        json_array_append_new(processes, process(i, name, false));
    greet();
    find(processes);
    fake_close(&fakes[1], NULL, false);
    assert_int_equal(((struct fixture *)*state)->left, 100);
}

static void test_no_login(void **state)
{
    fake_close(&fakes[1], "no route to host", false);
    expect(*state, -1, -1, "not checked: running: no route to host");
}

static void test_left_at_once(void **state)
{
    greet();
    fake_close(&fakes[1], NULL, false);
    expect(*state, -1, -1, "not checked: agent: it exited at once");
}

static void test_error(void **state)
{
    greet();
    fake_say(&fakes[1], FRAME_ERROR, json_pack("{s:s}", "text", "/proc shows no processes"));
    fake_close(&fakes[1], NULL, false);
    expect(*state, -1, -1, "not checked: /proc shows no processes");
}

static void test_senseless(void **state)
{
    greet();
    fake_say(&fakes[1], FRAME_CLEANED, json_pack("{s:i}", "processes", 7));
    fake_close(&fakes[1], NULL, false);
    expect(*state, -1, -1, "not checked: malformed answer");
}

/* Nobody has asked yet: that is no answer. */
static void test_too_early(void **state)
{
    find(json_array());
    fake_close(&fakes[1], NULL, false);
    expect(*state, -1, -1, "not checked: agent: it exited at once");
}

static void test_no_frame(void **state)
{
    greet();
    evbuffer_add(fakes[1].to_launcher, "this is no frame, and longer than a header", 40);
    fakes[1].conn.ops->input(fakes[1].to_launcher, fakes[1].conn.arg);
    assert_memory_equal(((struct fixture *)*state)->text, "not checked: protocol: ", 23);
    assert_null(((struct fixture *)*state)->fake.node.cleanup);
}

/* The run does not wait: over never comes. */
static void test_end(void **state)
{
    struct fixture *f = *state;

    orphan_cleanup_end(&f->fake.node);
    orphan_cleanup_end(&f->fake.node);
    assert_null(f->fake.node.cleanup);
    assert_true(fakes[1].is_freed);
    fake_node_turn(&f->fake, 0.05);
    assert_int_equal(f->calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_left, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_login, setup, teardown),
        cmocka_unit_test_setup_teardown(test_left_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_error, setup, teardown),
        cmocka_unit_test_setup_teardown(test_senseless, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_early, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
