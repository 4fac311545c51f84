/* test_rank_stacks.c - which ranks are at the same place, and how their stacks are shown
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

#include "outcome/rank_stacks.h"
#include "xalloc.h"

#define NODES 64
#define EACH  8

static struct plan        plan;
static struct plan_node   nodes[NODES];
static struct plan_rank   ranks[NODES * EACH];
static char               hosts[NODES][8];
static struct rank_stacks stacks;

static int set_up(void **state)
{
    int i;

    (void)state;
    plan = (struct plan){ .node = nodes, .nodes = NODES, .world_size = NODES * EACH };
    for (i = 0; i < NODES * EACH; i++)
        ranks[i].rank = i;
    for (i = 0; i < NODES; i++) {
        snprintf(hosts[i], sizeof hosts[i], "te%02d", i + 1);
        nodes[i] = (struct plan_node){ .host = hosts[i], .rank = &ranks[i * EACH],
                                       .ranks = EACH };
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rank_stacks_clear(&stacks);
    return 0;
}

/* Caller frees. */
static char *shown(void)
{
    struct buffer text = { 0 };

    rank_stacks_write(&stacks, &plan, &text);
    buffer_add(&text, "", 1);
    return text.bytes;
}

static void expect_shown(const char *wanted)
{
    char *text = shown();

    assert_string_equal(text, wanted);
    free(text);
}

/* Every rank waits in the same line of the same program. */
static void test_all_the_same(void **state)
{
    char text[300];
    int  i;

    (void)state;
    for (i = NODES * EACH - 1; i >= 0; i--) { /* the last one answers first */
        snprintf(text, sizeof text,
                 "pid %d: python3 -u train.py --local_rank=%d\n"
                 "  thread %d python3: S (sleeping) in futex_wait_queue\n"
                 "py-spy %d:\nProcess %d: python3 -u train.py --local_rank=%d\n"
                 "Thread %d (idle): \"MainThread\"\n    all_reduce (train.py:45)\n",
                 1000 + i, i % EACH, 1000 + i, 1000 + i, 1000 + i, i % EACH, 1000 + i);
        rank_stacks_add(&stacks, i, text);
    }
    expect_shown("ranks 0-511 on te[01-64]:\n"
                 "pid 1000: python3 -u train.py --local_rank=0\n"
                 "  thread 1000 python3: S (sleeping) in futex_wait_queue\n"
                 "py-spy 1000:\nProcess 1000: python3 -u train.py --local_rank=0\n"
                 "Thread 1000 (idle): \"MainThread\"\n    all_reduce (train.py:45)\n");
}

/* Two texts: are these ranks at the same place? */
static void test_pairs(void **state)
{
    static const struct {
        const char *one, *other;
        bool        is_same;
    } rows[] = {
        { "pid 1: a --local_rank=0", "pid 22: a --local_rank=7", true },
        { "pid 1: a", "pid 1: b", false },
        { "  thread 5 cuda: S (sleeping)", "  thread 77 cuda: S (sleeping)", true },
        { "  thread 5 cuda: S (sleeping)", "  thread 5 cuda: R (running)", false },
        { "  thread 5 cuda1: S", "  thread 5 cuda2: S", false },
        { "    step (train.py:45)", "    step (train.py:46)", false },
        { "#0 0x7f00 in poll (fds=0x1)", "#0 0x55aB in poll (fds=0x99)", true },
        { "#0 0x7f00 in poll (nfds=1)", "#0 0x7f00 in poll (nfds=2)", false },
        { "Thread 1 (Thread 0x7f (LWP 9) \"a\"):", "Thread 1 (Thread 0x8f (LWP 10) \"a\"):", true },
        { "[Inferior 1 (process 4) detached]", "[Inferior 1 (process 56) detached]", true },
        { "faulthandler, by SIGUSR2, of pid 7:\nThread 0x00007f01 (most recent call first):\n"
          "  File \"train.py\", line 12 in wait",
          "faulthandler, by SIGUSR2, of pid 81:\nThread 0x00007f99 (most recent call first):\n"
          "  File \"train.py\", line 12 in wait", true },
        { "  File \"train.py\", line 12 in wait", "  File \"train.py\", line 13 in wait", false },
        { "faulthandler, by SIGUSR1, of pid 7:", "faulthandler, by SIGUSR2, of pid 7:", false },
        { "cannot open /proc/12/mem", "cannot open /proc/3/mem", true },
        { "    [<0>] do_sys_poll+0x1a/0x5f0", "    [<0>] do_sys_poll+0x1a/0x5f0", true },
        { "x0x1 in f", "x0x2 in f", false },
        { "a_1 thread_2", "a_1 thread_3", false },
        { "pid 5a: x", "pid 6a: x", true },
        { "a\nb", "a\nb\n", true },
        { "a\nb", "a", false },
        { "0x", "0x1", false },
        { "pid ", "pid 1", false },
        { "", "", true },
        { "\xff\x01 thread 1", "\xff\x01 thread 2", true },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        rank_stacks_add(&stacks, 0, rows[i].one);
        rank_stacks_add(&stacks, 1, rows[i].other);
        if ((stacks.groups.count == 1) != rows[i].is_same)
            fail_msg("'%s' and '%s'", rows[i].one, rows[i].other);
        rank_stacks_clear(&stacks);
    }
}

/* Several groups, whose ranks are mixed, each in the order of its lowest rank. */
static void test_groups(void **state)
{
    (void)state;
    rank_stacks_add(&stacks, 9, "spins");
    rank_stacks_add(&stacks, 3, "sleeps\n");
    rank_stacks_add(&stacks, 8, "sleeps");
    rank_stacks_add(&stacks, 1, "sleeps");
    rank_stacks_add(&stacks, 2, "sleeps");
    rank_stacks_add(&stacks, 0, "spins");
    rank_stacks_add(&stacks, 511, "reads");
    expect_shown("ranks 0,9 on te[01-02]:\nspins\nranks 1-3,8 on te[01-02]:\nsleeps\n"
                 "rank 511 on te64:\nreads\n");
}

static void test_roles(void **state)
{
    static struct plan role[2];
    int                i;

    (void)state;
    plan.role = role;
    plan.roles = 2;
    role[0] = (struct plan){ .role_name = (char *)"actor", .world_size = 4, .node = NULL };
    role[1] = (struct plan){ .role_name = (char *)"learner", .world_size = 508, .first_rank = 4 };
    for (i = 0; i < 6; i++)
        rank_stacks_add(&stacks, i, "waits");
    expect_shown("ranks 0-3 of actor, ranks 0-1 of learner on te01:\nwaits\n");
}

static void test_json(void **state)
{
    static struct plan role[2];
    json_t            *list, *wanted;
    int                i;

    (void)state;
    rank_stacks_add(&stacks, 9, "spins\033[2J");
    rank_stacks_add(&stacks, 8, "sleeps\n");
    rank_stacks_add(&stacks, 0, "sleeps");
    list = rank_stacks_json(&stacks, &plan);
    wanted = json_pack("[{s:[{s:i,s:s},{s:i,s:s}],s:s},{s:[{s:i,s:s}],s:s}]", "ranks", "rank", 0,
                       "node", "te01", "rank", 8, "node", "te02", "text", "sleeps\n", "ranks",
                       "rank", 9, "node", "te02", "text", "spins^[[2J\n");
    assert_true(json_equal(list, wanted));
    json_decref(list);
    json_decref(wanted);

    plan.role = role;
    plan.roles = 2;
    role[0] = (struct plan){ .role_name = (char *)"actor", .world_size = 8, .nodes = 1 };
    role[1] = (struct plan){ .role_name = (char *)"learner", .world_size = 504, .first_rank = 8,
                             .nodes = NODES - 1, .first_node = 1 };
    for (i = 1; i < NODES; i++)
        nodes[i].role = 1;
    list = rank_stacks_json(&stacks, &plan);
    wanted = json_pack("[{s:i,s:s,s:s},{s:i,s:s,s:s}]", "rank", 0, "node", "te01", "role", "actor",
                       "rank", 0, "node", "te02", "role", "learner");
    assert_true(json_equal(json_object_get(json_array_get(list, 0), "ranks"), wanted));
    json_decref(list);
    json_decref(wanted);
}

static void test_safe(void **state)
{
    char *text;

    (void)state;
    rank_stacks_add(&stacks, 0, "a\033[2Jb\rc\ttab\n\x01\n\xc3(\n");
    text = shown();
    assert_null(strpbrk(text, "\033\r\x01"));
    assert_int_equal(strncmp(text, "rank 0 on te01:\na", 17), 0);
    free(text);
}

static void test_nothing(void **state)
{
    (void)state;
    expect_shown("");
    rank_stacks_add(&stacks, 0, "");
    expect_shown("rank 0 on te01:\n");
}

/* Texts that all differ are bounded; ranks at a place that is known still count. */
static void test_bounds(void **state)
{
    const size_t size = 1u << 20;
    char        *many = xcalloc(size + 1, 1), *text;
    int          i;

    (void)state;
    memset(many, 'x', size);
    for (i = 0; i < 30; i++) {
        many[0] = (char)('A' + i);
        rank_stacks_add(&stacks, i, many);
    }
    many[0] = 'A';
    rank_stacks_add(&stacks, 100, many);
    assert_true(stacks.size <= RANK_STACKS_MAX && stacks.size > RANK_STACKS_MAX - 2 * size);
    text = shown();
    assert_int_equal(strncmp(text, "ranks 0,100 on te[01,13]:\nAx", 28), 0);
    assert_non_null(strstr(text, "\n... and more ranks: their stacks are too long together\n"));
    free(text);
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pairs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_roles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_safe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
