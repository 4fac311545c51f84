/* test_generations.c - what is kept of generations that were started again
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "outcome/outcome.h"
#include "xalloc.h"

#define RANKS 4

/* A run on one node. */
struct fixture {
    struct plan      plan;
    struct plan_node node;
    struct plan_rank rank[RANKS];
    struct outcome   outcome;
    int64_t          now_ns;
};

static int setup(void **state)
{
    static char     host[] = "te1";
    struct fixture *f = xcalloc(1, sizeof *f);
    int             rank;

    f->now_ns = clock_now_ns();
    f->plan = (struct plan){ .node = &f->node, .nodes = 1, .node_count = 1, .world_size = RANKS,
                             .run_id = host, .stamp = host };
    f->node = (struct plan_node){ .host = host, .rank = f->rank, .ranks = RANKS };
    for (rank = 0; rank < RANKS; rank++)
        f->rank[rank].rank = f->rank[rank].local_rank = rank;
    outcome_init(&f->outcome, &f->plan);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    outcome_clear(&f->outcome);
    free(f);
    return 0;
}

/* Every rank starts, one after the other, and is killed 3 s after the first start. */
static void run_all(struct fixture *f, int signal)
{
    struct rank_end end = { .started = true, .ended = true, .signal = signal,
                            .end_ns = f->now_ns + 3 * NS_PER_S };
    int             rank;

    for (rank = 0; rank < RANKS; rank++) {
        end.start_ns = f->now_ns + rank * NS_PER_S / 2;
        outcome_rank_started(&f->outcome, rank, 1000 + rank, end.start_ns);
        outcome_rank_ended(&f->outcome, rank, &end);
    }
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool is_about(double seconds, double wanted)
{
    return seconds > wanted - 0.1 && seconds < wanted + 0.1;
}

/* Each is told as it ended, and the oldest are forgotten. */
static void test_generations(void **state)
{
    struct fixture *f = *state;
    json_t         *json, *list, *first, *last;
    int             i;

    for (i = 0; i < GENERATIONS_MOST + 3; i++) {
        run_all(f, SIGKILL);
        f->outcome.lost_bytes += 2;
        outcome_restart(&f->outcome, "rank 3");
        f->plan.generation++;
        assert_int_equal(outcome_status(&f->outcome), EXIT_INTERNAL);
        assert_false(outcome_any_started(&f->outcome));
    }
    assert_int_equal(f->outcome.lost_bytes, 2 * (GENERATIONS_MOST + 3));
    run_all(f, SIGSEGV);
    json = outcome_json(&f->outcome, false);
    list = json_object_get(json, "generations");
    assert_int_equal(json_array_size(list), GENERATIONS_MOST + 1);
    first = json_array_get(list, 0);
    last = json_array_get(list, GENERATIONS_MOST);
    assert_true(number(first, "generation") == 3);
    assert_true(number(first, "exit_status") == 137);
    assert_string_equal(json_string_value(json_object_get(first, "text")), "rank 3");
    assert_true(is_about(number(first, "last_start") - number(first, "first_start"), 1.5));
    assert_true(is_about(number(first, "last_end") - number(first, "first_start"), 3));
    assert_true(number(last, "exit_status") == 139);
    assert_true(json_is_null(json_object_get(last, "text")));
    json_decref(json);
}

/* A rank that asks for the end by PMI is told apart from other causes. */
static void test_aborted(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(f->outcome.aborted_by, -1);
    outcome_aborted(&f->outcome, 1, 6, "rank %d aborted", 1);
    outcome_aborted(&f->outcome, 2, 7, "rank %d aborted", 2);
    assert_int_equal(f->outcome.aborted_by, 1);
    assert_int_equal(outcome_status(&f->outcome), 6);
    outcome_restart(&f->outcome, "rank 1 aborted");
    assert_int_equal(f->outcome.aborted_by, -1);
    outcome_cause(&f->outcome, 130, "interrupted");
    outcome_aborted(&f->outcome, 2, 7, "too late");
    assert_int_equal(f->outcome.aborted_by, -1);
}

/* All of a generation start together; how one of them ends, so many seconds later. */
static void end_one(struct fixture *f, int rank, double after_s, struct rank_end end)
{
    end.started = end.ended = true;
    end.start_ns = f->now_ns;
    end.end_ns = f->now_ns + (int64_t)(after_s * NS_PER_S);
    outcome_rank_started(&f->outcome, rank, 1000 + rank, f->now_ns);
    outcome_rank_ended(&f->outcome, rank, &end);
}

static void test_alike(void **state)
{
    const struct rank_end last[] = {
        { .code = 1 }, { .code = 0 }, { .signal = SIGSEGV }, { .code = 1, .after_stop = true },
    };
    struct fixture *f = *state;
    size_t          i;

    for (i = 0; i < sizeof last / sizeof *last; i++) {
        assert_int_equal(outcome_alike(&f->outcome, f->outcome.plan, 10), -1);
        end_one(f, 2, 2, (struct rank_end){ .code = 1 });
        end_one(f, 0, 3, (struct rank_end){ .code = 1 });
        end_one(f, 1, 3, (struct rank_end){ .code = 1 });
        assert_int_equal(outcome_alike(&f->outcome, f->outcome.plan, 10), 3);
        /* two have lived for longer */
        assert_int_equal(outcome_alike(&f->outcome, f->outcome.plan, 2.5), -1);
        end_one(f, 3, 4, last[i]);
        assert_int_equal(outcome_alike(&f->outcome, f->outcome.plan, 10), i == 0 ? RANKS : -1);
        outcome_restart(&f->outcome, "rank 2: exit 1");
    }
}

/* Two roles of two ranks. Both fail, and one of them starts again. */
static void test_restart_role(void **state)
{
    struct fixture *f = *state;
    struct options  options = { 0 };
    struct plan     role[] = { { .role_name = (char *)"a", .world_size = 2, .generation = 4 },
                               { .role_name = (char *)"b", .world_size = 2, .first_rank = 2 } };
    json_t         *json, *past;

    f->plan.role = role;
    f->plan.roles = 2;
    role[0].options = role[1].options = &options;
    f->outcome.rank[0].started = true; /* it runs on */
    f->outcome.started = f->outcome.seen = 1;
    end_one(f, 1, 1, (struct rank_end){ .code = 5 });
    end_one(f, 3, 2, (struct rank_end){ .code = 6 });
    assert_int_equal(outcome_first_rank(&f->outcome, &role[1]), 3);
    assert_int_equal(outcome_status(&f->outcome), 5);
    outcome_restart_role(&f->outcome, &role[0], 5, "rank 1 of a: exit 5");
    assert_int_equal(outcome_first_rank(&f->outcome, &role[0]), -1);
    assert_int_equal(outcome_status(&f->outcome), 6);
    assert_false(f->outcome.rank[1].ended);
    assert_int_equal(f->outcome.started, 1);
    assert_int_equal(f->outcome.seen, 1);
    outcome_restart_role(&f->outcome, &role[1], 6, "rank 1 of b: exit 6");
    assert_int_equal(f->outcome.first_rank, -1);
    json = outcome_json(&f->outcome, false);
    past = json_array_get(json_object_get(json, "generations"), 0);
    assert_string_equal(json_string_value(json_object_get(past, "role")), "a");
    assert_true(number(past, "generation") == 4);
    assert_true(number(past, "exit_status") == 5);
    assert_null(json_object_get(json_array_get(json_object_get(json, "generations"), 2), "role"));
    json_decref(json);
    f->plan.roles = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_generations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_aborted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alike, setup, teardown),
        cmocka_unit_test_setup_teardown(test_restart_role, setup, teardown),
    };

    return cmocka_run_group_tests_name("generations", tests, NULL, NULL);
}
