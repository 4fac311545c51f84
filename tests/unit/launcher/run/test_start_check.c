/* test_start_check.c - checks of what nodes report before a start
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "log.h"
#include "run/pool.h"
#include "run/start_check.h"
#include "run_fixture.h"
#include "xalloc.h"

static int slot[HOSTS][2];

/* --- the others ------------------------------------------------------------- */

size_t pool_nodes(const struct run *of)
{
    (void)of;
    return HOSTS;
}

struct node *pool_node(const struct run *of, size_t number)
{
    (void)of;
    return &node[number];
}

/* --- the run ---------------------------------------------------------------- */

static void line_cb(const char *line, size_t size, void *arg)
{
    (void)arg;
    told("%.*s", (int)size, line);
}

/* All nodes are on one machine, with the same slots. */
static int setup(void **state)
{
    size_t i;

    (void)state;
    run_fixture_begin();
    log_sink(line_cb, NULL);
    for (i = 0; i < HOSTS; i++) {
        slot[i][0] = 0;
        slot[i][1] = 1;
        plan_node[i].slot = slot[i];
        plan_node[i].slots = 2;
        node[i].hello = json_pack("{s:s, s:i, s:i, s:i, s:s, s:i, s:[s], s:i}", "boot_id", "b",
                                  "netns", 5, "mntns", 6, "uid", 1000, "home", "/home/ann", "gpus",
                                  2, "addresses", "10.0.0.1", "size", 7);
        node[i].trips.best_ns = INT64_MAX;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    log_sink(NULL, NULL);
    run_fixture_end();
    return 0;
}

static void say(size_t which, const char *key, json_t *value)
{
    json_object_set_new(node[which].hello, key, value);
}

static void expect_failure(size_t which, int exit_code, const char *words)
{
    assert_int_equal(node[which].state, NODE_FAILED);
    assert_int_equal(node[which].failure->exit_code, exit_code);
    assert_non_null(strstr(node[which].failure->text, words));
}

/* --- a node has answered ------------------------------------------------------ */

static void test_size_of_the_agent(void **state)
{
    (void)state;
    run.agent.size = 7;
    assert_true(start_check_hello(&run, &node[0]));
    say(0, "size", json_integer(0)); /* no agent was copied there */
    assert_true(start_check_hello(&run, &node[0]));
    say(0, "size", json_integer(6));
    plan_node[0].is_local = true;
    assert_true(start_check_hello(&run, &node[0]));
    plan_node[0].is_local = false;
    assert_false(start_check_hello(&run, &node[0]));
    expect_failure(0, EXIT_CREATE, "there is damaged: it has 6 bytes instead of 7");
}

/* --- one machine under two names ------------------------------------------------ */

static void test_twice(void **state)
{
    (void)state;
    start_check_nodes(&run);
    assert_int_equal(node[0].state, NODE_RUNNING);
    expect_failure(1, EXIT_DATA, "this is the same machine as te1, and both use the same slots");
}

/* Each of these makes it another machine, or is intended by the user. */
static void test_not_twice(void **state)
{
    static const struct {
        const char *key;
        const char *value;
    } cases[] = {
        { "boot_id", "\"c\"" },
        { "netns", "9" },
        { "home", "\"/home/bob\"" },
        { "uid", "1001" },
        { "addresses", "[\"10.0.0.2\"]" }, /* virtual machines from one snapshot */
    };
    size_t i;
    void  *ignored;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        say(1, cases[i].key, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        start_check_nodes(&run);
        assert_int_equal(node[1].state, NODE_RUNNING);
        expect_told("");
        teardown(state);
        setup(&ignored);
    }
    say(0, "netns", json_integer(0)); /* unknown to both */
    say(1, "netns", json_integer(0));
    start_check_nodes(&run);
    assert_int_equal(node[1].state, NODE_RUNNING);
    say(0, "netns", json_integer(5));
    say(1, "netns", json_integer(5));
    say(0, "home", json_string(""));
    say(1, "home", json_string(""));
    start_check_nodes(&run);
    assert_int_equal(node[1].state, NODE_RUNNING);
}

static void test_slots(void **state)
{
    (void)state;
    plan_node[0].is_local = plan_node[1].is_local = true; /* the user intends it */
    start_check_nodes(&run);
    assert_int_equal(node[1].state, NODE_RUNNING);
    plan_node[0].is_local = false;
    slot[1][0] = 2;
    slot[1][1] = 3;
    start_check_nodes(&run);
    assert_int_equal(node[1].state, NODE_RUNNING);
    slot[1][1] = 1; /* one common slot is enough */
    start_check_nodes(&run);
    assert_int_equal(node[1].state, NODE_FAILED);
}

static void test_containers(void **state)
{
    (void)state;
    say(1, "mntns", json_integer(9));
    start_check_nodes(&run);
    assert_int_equal(node[1].state, NODE_RUNNING);
    expect_told("muster: warning: te1 and te2 are containers on one machine: do they share its "
                "GPUs?\n");
    say(1, "gpus", json_integer(0));
    start_check_nodes(&run);
    expect_told("");
}

static void test_spare(void **state)
{
    (void)state;
    assert_false(start_check_other(&run, &node[2]));
    expect_failure(2, EXIT_DATA, "this is the same machine as te1");
}

/* The check ignores nodes that are over or have not answered. */
static void test_spare_alone(void **state)
{
    (void)state;
    node[0].state = NODE_ENDED;
    json_decref(node[1].hello);
    node[1].hello = NULL;
    assert_true(start_check_other(&run, &node[2]));
    assert_int_equal(node[2].state, NODE_RUNNING);
}

/* --- a node is ready ------------------------------------------------------------ */

static bool ready(size_t which, const char *json)
{
    json_t *body = json_loads(json, 0, NULL);
    bool    is_fine;

    assert_non_null(body);
    is_fine = start_check_ready(&run, &node[which], body);
    json_decref(body);
    return is_fine;
}

static void test_containment(void **state)
{
    static const char *const weak[] = { "", "subreaper+lease", "userns", "pid", "xcgroup+lease" };
    char   *body;
    size_t  i;
    void   *ignored;

    assert_true(ready(0, "{\"containment\": \"subreaper+lease\"}"));
    for (i = 0; i < sizeof weak / sizeof *weak; i++) {
        options.strict_containment = true;
        body = xasprintf("{\"containment\": \"%s\"}", weak[i]);
        assert_false(ready(0, body));
        expect_failure(0, EXIT_CREATE, weak[i][0] != '\0' ? weak[i] : "only nothing");
        free(body);
        teardown(state);
        setup(&ignored);
    }
    options.strict_containment = true;
    assert_true(ready(0, "{\"containment\": \"userns+pidns+lease\"}"));
    assert_true(ready(1, "{\"containment\": \"cgroup\"}"));
}

static void test_gpu_is_in_use(void **state)
{
    static const char one[] =
        "{\"gpu_holders\": [{\"pid\": 7, \"user\": \"ann\", \"age_s\": 10800, "
        "\"command\": \"python3 train.py\", \"gpus\": [0, 1]}]}";

    (void)state;
    assert_true(ready(0, one));
    expect_told("muster: warning: te1: GPU 0,1 is in use by pid 7 of ann, for 3 h: "
                "python3 train.py\n");
    options.require_idle_gpus = true;
    assert_false(ready(0, one));
    expect_failure(0, EXIT_CREATE, "GPU 0,1 is in use by pid 7 of ann, for 3 h");
    plan.command = COMMAND_EXEC; /* needs no GPUs */
    assert_true(ready(1, one));
}

static void test_many_holders(void **state)
{
    (void)state;
    assert_true(ready(0, "{\"gpu_holders\": [{\"gpus\": [0], \"pid\": 1, \"age_s\": 59}, {}, {}, "
                         "{}, {}, {}]}"));
    expect_told("muster: warning: te1: GPU 0 is in use by pid 1 of ?, for 59 s: ?\n"
                "muster: warning: te1: GPU  is in use by pid 0 of ?, for 0 s: ?\n"
                "muster: warning: te1: GPU  is in use by pid 0 of ?, for 0 s: ?\n"
                "muster: warning: te1: GPU  is in use by pid 0 of ?, for 0 s: ?\n"
                "muster: warning: te1: and 2 more processes use its GPUs\n");
}

static void test_shared_memory(void **state)
{
    (void)state;
    assert_true(ready(0, "{\"shm\": {\"free\": 1048576, \"stale\": [{\"size\": 1048576, "
                         "\"user\": \"ann\"}, {\"size\": 1048576}]}}"));
    expect_told("muster: warning: te1: /dev/shm has only 1 MiB free, which may be too little for "
                "the shared memory of the ranks\n"
                "muster: warning: te1: 2 stale files (2 MiB) left by crashed programs, for example "
                "by ann: muster clean --kill removes yours\n");
    assert_true(ready(0, "{\"shm\": {\"free\": 0, \"stale\": []}}"));
    expect_told("muster: warning: te1: /dev/shm has only 0 MiB free, which may be too little for "
                "the shared memory of the ranks\n");
}

static void test_left(void **state)
{
    (void)state;
    assert_true(ready(0, "{\"left\": [{\"pid\": 7, \"run\": \"r\", \"command\": \"sleep\"}]}"));
    expect_told("muster: warning: te1: 1 process of an earlier run is still running, for example "
                "pid 7 of run r (sleep): muster clean --kill kills yours\n");
    assert_true(ready(0, "{\"left\": [{}, {}]}"));
    expect_told("muster: warning: te1: 2 processes of earlier runs are still running, for example "
                "pid 0 of run ? (?): muster clean --kill kills yours\n");
}

/* The ranks would look for devices that are not there. */
static void test_lacking(void **state)
{
    (void)state;
    outcome_init(&run.outcome, &plan);
    assert_true(ready(0, "{\"lacking\": [{\"variable\": \"NCCL_SOCKET_IFNAME\", \"value\": "
                         "\"ib0\", \"there\": [\"lo\", \"eth0\"]}]}"));
    assert_true(ready(1, "{\"lacking\": [{\"variable\": \"NCCL_IB_HCA\", \"value\": \"mlx\", "
                         "\"there\": []}]}"));
    outcome_tell(&run.outcome);
    expect_told("muster: warning: te1: NCCL_SOCKET_IFNAME=ib0 names an interface that is not "
                "there, or has no address (there: lo, eth0): unset it, and muster sets the right "
                "one\n"
                "muster: warning: te2: NCCL_IB_HCA=mlx names an InfiniBand device that is not "
                "there (there: none): unset it, and NCCL finds the devices\n");
    outcome_clear(&run.outcome);
    outcome_init(&run.outcome, &plan);
    assert_true(ready(0, "{\"lacking\": {\"variable\": \"x\"}}"));
    assert_true(ready(0, "{\"lacking\": \"x\"}"));
    assert_false(cautions_any(&run.outcome.cautions));
    assert_true(ready(0, "{\"lacking\": [7, {\"there\": [7, \"x\"]}, {\"value\": 8}]}"));
    assert_true(cautions_any(&run.outcome.cautions));
    outcome_clear(&run.outcome);
}

/* --- the clocks ------------------------------------------------------------------ */

/* The node's clock is ahead by ahead_s, measured with a round trip of trip_s. */
static void is_ahead(size_t which, double ahead_s, double trip_s)
{
    struct timespec real;

    clock_gettime(CLOCK_REALTIME, &real);
    say(which, "time_ns", json_integer(real.tv_sec * NS_PER_S + real.tv_nsec +
                                       (int64_t)(ahead_s * NS_PER_S)));
    say(which, "now_ns", json_integer(clock_now_ns()));
    node[which].trips.best_ns = (int64_t)(trip_s * NS_PER_S);
    node[which].trips.offset_ns = 0;
}

static void test_clocks(void **state)
{
    (void)state;
    start_check_clocks(&run);
    is_ahead(0, 0, 0.001);
    say(0, "time_ns", json_integer(0)); /* not reported */
    start_check_clocks(&run);
    is_ahead(0, 0.5, 0.001);
    is_ahead(1, 100, 200); /* too imprecise */
    start_check_clocks(&run);
    expect_told("");
    is_ahead(1, 60, 0.001);
    start_check_clocks(&run);
    expect_told("muster: warning: te2: the clock is up to 60.0 s ahead of this machine's; is a "
                "time service running?\n");
    is_ahead(0, -90, 0.001);
    start_check_clocks(&run);
    expect_told("muster: warning: te[1-2]: the clock is up to 90.0 s behind this machine's; is a "
                "time service running?\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_size_of_the_agent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slots, setup, teardown),
        cmocka_unit_test_setup_teardown(test_containers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spare, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spare_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_containment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gpu_is_in_use, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_holders, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shared_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_left, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lacking, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clocks, setup, teardown),
    };

    log_init("muster", LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
