/* test_rank.c - what the launcher is told of a rank's end, or of why it never began
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "xalloc.h"

/* The guard reports that of rank 0, whose output has ended; what the launcher hears. */
static json_t *report_of(struct world *world, struct guard_message end)
{
    struct frame was;
    json_t      *body;

    end.type = GUARD_EXITED;
    if (end.at_ns == 0)
        end.at_ns = clock_now_ns();
    world_close_output(world, 0);
    assert_ptr_equal(ranks_exited(&world->agent.ranks, &end), &world->agent.ranks.rank[0]);
    body = world_hear(world, FRAME_EXIT, &was);
    assert_int_equal(was.rank, FIRST_RANK);
    assert_int_equal(world->agent.ranks.rank[0].state, RANK_REPORTED);
    return body;
}

/* That it is these fields and no others; in JSON. */
static void assert_reported(const struct guard_message *end, bool is_stopped, const char *fields)
{
    struct world *world = world_new(1);
    json_t       *body, *expected = json_loads(fields, 0, NULL);

    assert_non_null(expected);
    if (is_stopped)
        assert_true(ranks_stopped(&world->agent.ranks, 1000));
    world->agent.ranks.rank[0].path = xstrdup("/no/such/program");
    body = report_of(world, *end);
    assert_true(json_integer_value(json_object_get(body, "at_ns")) > 0);
    assert_int_equal(json_object_del(body, "at_ns"), 0);
    if (!json_equal(body, expected))
        fail_msg("%s", json_dumps(body, 0));
    json_decref(body);
    json_decref(expected);
    world_free(world);
}

static void test_ends_by_itself(void **state)
{
    (void)state;
    assert_reported(&(struct guard_message){ .maxrss_kb = 4321 }, false,
                    "{\"code\": 0, \"maxrss_kb\": 4321}");
    assert_reported(&(struct guard_message){ .value = 7 << 8 }, false,
                    "{\"code\": 7, \"maxrss_kb\": 0}");
}

static void test_ends_by_a_signal(void **state)
{
    (void)state;
    assert_reported(&(struct guard_message){ .value = SIGTERM }, false,
                    "{\"signal\": 15, \"core\": false, \"maxrss_kb\": 0}");
    assert_reported(&(struct guard_message){ .value = SIGSEGV | WCOREFLAG }, false,
                    "{\"signal\": 11, \"core\": true, \"maxrss_kb\": 0}");
}

/* Only if it ended after the stop began, by the node's own clock, is that its reason. */
static void test_ends_by_the_stop(void **state)
{
    (void)state;
    assert_reported(&(struct guard_message){ .value = SIGTERM, .at_ns = 1000 }, true,
                    "{\"signal\": 15, \"core\": false, \"maxrss_kb\": 0, \"stopped\": true}");
    assert_reported(&(struct guard_message){ .value = SIGTERM, .at_ns = 999 }, true,
                    "{\"signal\": 15, \"core\": false, \"maxrss_kb\": 0}");
}

static void test_was_not_executed(void **state)
{
    struct guard_message end = { .value = 126 << 8, .failure = { SPAWN_EXEC, ENOENT } };

    (void)state;
    assert_reported(&end, false,
                    "{\"code\": 127, \"maxrss_kb\": 0, \"error\": "
                    "\"cannot execute /no/such/program: No such file or directory\"}");
    end.failure.error = EACCES;
    assert_reported(&end, false,
                    "{\"code\": 126, \"maxrss_kb\": 0, \"error\": "
                    "\"cannot execute /no/such/program: Permission denied\"}");
}

/* What it left behind holds its output open: the launcher learns of the end first. */
static void test_output_is_held_open(void **state)
{
    static const struct guard_message end = { .type = GUARD_EXITED, .at_ns = 1 };
    struct world                     *world = world_new(1);
    struct frame                      was;
    json_t                           *body;

    (void)state;
    ranks_exited(&world->agent.ranks, &end);
    body = world_hear(world, FRAME_EXIT, NULL);
    assert_true(json_is_true(json_object_get(body, "late")));
    json_decref(body);
    assert_int_equal(write(world->writer[0], "rest", 4), 4);
    json_decref(world_hear(world, FRAME_OUTPUT, &was));
    assert_int_equal(was.size, 4);
    world_close_output(world, 0);
    world_turn(world);
    assert_false(world_has(world, FRAME_EXIT)); /* once is enough */
    world_free(world);
}

static void test_is_cancelled(void **state)
{
    struct world *world = world_new(1);
    json_t       *body;

    (void)state;
    world_close_output(world, 0);
    rank_cancel(&world->agent.ranks.rank[0], SIGKILL); /* it is lost with the guard */
    body = world_hear(world, FRAME_EXIT, NULL);
    assert_int_equal(json_integer_value(json_object_get(body, "signal")), SIGKILL);
    json_decref(body);
    world_free(world);
}

/* ---- before GO ---- */

static void assert_explained(struct guard_message end, int code, const char *text)
{
    struct world  *world = world_new(1);
    struct rank   *rank = &world->agent.ranks.rank[0];
    struct failure failure = { 0 };

    rank->path = xstrdup("/no/such/program");
    rank->state = RANK_FORKING;
    world->agent.ranks.has_begun = false;
    end.type = GUARD_EXITED;
    ranks_exited(&world->agent.ranks, &end);
    rank_explain(rank, &failure);
    assert_int_equal(failure.code, code);
    assert_string_equal(failure.why.text, text);
    assert_int_equal(rank->state, RANK_REPORTED); /* ERROR says it for the node */
    assert_false(world_has(world, FRAME_EXIT));
    world_free(world);
}

static void test_is_explained(void **state)
{
    (void)state;
    assert_explained((struct guard_message){ .failure = { SPAWN_BIND, EINVAL } }, 126,
                     "cannot bind /no/such/program to its cores: Invalid argument");
    assert_explained((struct guard_message){ .value = SIGINT }, EXIT_LOST,
                     "rank 6 was killed by SIGINT before it started");
    assert_explained((struct guard_message){ .value = 3 << 8 }, EXIT_LOST,
                     "rank 6 was killed by SIGKILL before it started");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_by_itself),
        cmocka_unit_test(test_ends_by_a_signal),
        cmocka_unit_test(test_ends_by_the_stop),
        cmocka_unit_test(test_was_not_executed),
        cmocka_unit_test(test_output_is_held_open),
        cmocka_unit_test(test_is_cancelled),
        cmocka_unit_test(test_is_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
