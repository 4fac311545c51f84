/* test_ending.c - from a stop to DONE: what is waited for, for how long, and what DONE says
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "session_fixture.h"

static int64_t number(const json_t *body, const char *key)
{
    return json_integer_value(json_object_get(body, key));
}

/* DONE has come, and this is in it. Nothing more is done here then. */
static void assert_done(struct world *world, int left, int killed)
{
    json_t *body = world_hear(world, FRAME_DONE, NULL);

    assert_int_equal(number(body, "left"), left);
    assert_int_equal(number(body, "killed"), killed);
    assert_int_equal(world->agent.state, AGENT_DONE);
    json_decref(body);
}

static void test_nothing_was_started(void **state)
{
    struct world *world = world_new(0);

    (void)state;
    agent_stop(&world->agent, 5);
    assert_done(world, 0, 0);
    agent_stop(&world->agent, 5); /* STOP may come twice */
    assert_false(world_has(world, FRAME_DONE));
    world_free(world);
}

static void test_the_last_rank_ends_what_is_left(void **state)
{
    struct world *world = world_new(2);

    (void)state;
    world_rank_ends(world, 0);
    assert_int_equal(world->agent.state, AGENT_RUNNING);
    assert_true(world_stop_s(world) < 0);
    world_rank_ends(world, 1);
    assert_int_equal(world->agent.state, AGENT_ENDING);
    assert_true(world_stop_s(world) == 1.0); /* not the grace of the plan */
    world_close_output(world, 0);
    world_close_output(world, 1);
    assert_false(world_has(world, FRAME_DONE)); /* processes of theirs may still be there */
    ending_empty(&world->agent, 0, 3);
    assert_done(world, 0, 3);
    world_free(world);
}

/* The launcher learns of every end before it learns that this was all. */
static void test_done_comes_last(void **state)
{
    struct world *world = world_new(1);
    struct frame  was;
    json_t       *body;

    (void)state;
    agent_stop(&world->agent, 20);
    ending_empty(&world->agent, 0, 0); /* before the rank's own end was told */
    assert_false(world_has(world, FRAME_DONE));
    assert_int_equal(write(world->writer[0], "last words", 10), 10);
    world_rank_ends(world, 0);
    world_close_output(world, 0);
    json_decref(world_hear(world, FRAME_OUTPUT, &was));
    assert_int_equal(was.size, 10);
    body = world_hear(world, FRAME_EXIT, &was);
    assert_int_equal(was.rank, FIRST_RANK);
    assert_true(json_is_true(json_object_get(body, "stopped")));
    json_decref(body);
    assert_done(world, 0, 0);
    world_free(world);
}

static void test_of_several_graces_the_first_end_counts(void **state)
{
    struct world *world = world_new(1);
    int64_t       first_ns;

    (void)state;
    agent_stop(&world->agent, 20);
    assert_true(world_stop_s(world) == 20.0);
    assert_int_equal(world->agent.state, AGENT_ENDING);
    first_ns = world->agent.ending.kill_ns;
    agent_stop(&world->agent, 30);
    assert_true(world->agent.ending.kill_ns == first_ns);
    agent_stop(&world->agent, 2);
    assert_true(world->agent.ending.kill_ns < first_ns - 17 * NS_PER_S);
    assert_true(world_stop_s(world) == 30.0); /* the guard shortens it by itself */
    assert_true(world_stop_s(world) == 2.0);
    world_free(world);
}

static void test_ranks_that_wait_are_not_started(void **state)
{
    struct world *world = world_new(2);

    (void)state;
    world->agent.ranks.has_begun = false; /* GO has not come */
    world->agent.ranks.rank[1].state = RANK_WAITING;
    world->agent.state = AGENT_PREPARING;
    agent_stop(&world->agent, 0);
    assert_int_equal(world->agent.ranks.ended, 1);
    assert_int_equal(world->agent.ranks.next_fork, 2);
    world_rank_ends(world, 0);
    ending_empty(&world->agent, 0, 0);
    assert_false(world_has(world, FRAME_EXIT)); /* nothing was to be told of them */
    assert_done(world, 0, 0);
    world_free(world);
}

/* No process of the run has the pipe any more. */
static void test_a_pipe_is_not_waited_for_long(void **state)
{
    struct world *world = world_new(1);
    int64_t       begin_ns = clock_now_ns();
    json_t       *body;

    (void)state;
    assert_int_equal(write(world->writer[0], "x", 1), 1);
    world_rank_ends(world, 0);
    ending_empty(&world->agent, 0, 0);
    body = world_hear(world, FRAME_EXIT, NULL); /* late, but before its streams have ended */
    assert_true(json_is_true(json_object_get(body, "late")));
    json_decref(body);
    assert_true(world->writer[0] >= 0);
    assert_done(world, 0, 0);
    assert_true(clock_now_ns() - begin_ns > NS_PER_S); /* a slow reader had time */
    world_free(world);
}

/* KILL could not end it: the rank counts as killed, and DONE names the process. */
static void test_what_cannot_be_killed_is_named(void **state)
{
    struct world *world = world_new(1);
    pid_t         stuck = fork();
    json_t       *body, *named;

    (void)state;
    if (stuck == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
        pause();
        _exit(0);
    }
    agent_stop(&world->agent, 0);
    ending_empty(&world->agent, 1, 0);
    body = world_hear(world, FRAME_EXIT, NULL);
    assert_int_equal(number(body, "signal"), SIGKILL);
    json_decref(body);
    body = world_hear(world, FRAME_DONE, NULL);
    named = json_object_get(body, "stuck");
    assert_int_equal(number(body, "left"), 1);
    assert_int_equal(json_array_size(named), 1);
    assert_int_equal(number(json_array_get(named, 0), "pid"), stuck);
    json_decref(body);
    kill(stuck, SIGKILL);
    waitpid(stuck, NULL, 0);
    world_free(world);
}

/* Nobody is told any more, but what still writes is not left alone. */
static void test_without_a_launcher(void **state)
{
    struct world *world = world_new(1);

    (void)state;
    link_lose(&world->agent.link, "a test");
    assert_int_equal(world->losses, 1);
    ranks_discard(&world->agent.ranks); /* as agent.c does */
    agent_stop(&world->agent, 3);
    assert_true(world_stop_s(world) == 3.0);
    world_rank_ends(world, 0);
    ending_empty(&world->agent, 0, 0);
    world_turn(world);
    assert_int_equal(world->agent.state, AGENT_ENDING);
    world_close_output(world, 0);
    world_turn(world);
    assert_int_equal(world->agent.state, AGENT_DONE);
    assert_int_equal(evbuffer_get_length(world->heard), 0);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_was_started),
        cmocka_unit_test(test_the_last_rank_ends_what_is_left),
        cmocka_unit_test(test_done_comes_last),
        cmocka_unit_test(test_of_several_graces_the_first_end_counts),
        cmocka_unit_test(test_ranks_that_wait_are_not_started),
        cmocka_unit_test(test_a_pipe_is_not_waited_for_long),
        cmocka_unit_test(test_what_cannot_be_killed_is_named),
        cmocka_unit_test(test_without_a_launcher),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
