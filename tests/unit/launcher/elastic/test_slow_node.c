/* test_slow_node.c - which node is slower than the others
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

#include "elastic/slow_node.h"
#include "xalloc.h"

#define NODES   4
#define EVERY_S 10.0

static struct slow_node  node[NODES];
static struct slow_world world;
static double            now_s;

static int begin(void **unused)
{
    (void)unused;
    now_s = 1000;
    return 0;
}

static int end(void **unused)
{
    size_t i;

    (void)unused;
    for (i = 0; i < NODES; i++)
        slow_node_clear(&node[i]);
    slow_world_clear(&world);
    return 0;
}

/* A sample of that node comes. */
static enum slow_change comes(size_t which, const char *body, size_t nodes)
{
    const struct slow_node *all[NODES];
    json_t                 *json = json_loads(body, 0, NULL);
    size_t                  i;

    assert_non_null(json);
    for (i = 0; i < nodes; i++)
        all[i] = &node[i];
    slow_sample_read(&node[which].sample, json, now_s);
    json_decref(json);
    slow_world_look(&world, all, nodes, EVERY_S, now_s);
    return slow_node_judge(&node[which], &world, now_s);
}

/* All nodes send the same, but number 1, one after the other. Returns what follows for that. */
static enum slow_change round_of(const char *usual, const char *own, size_t nodes)
{
    enum slow_change change = SLOW_AS_BEFORE;
    size_t           i;

    for (i = 0; i < nodes; i++) {
        if (i == 1)
            change = comes(1, own, nodes);
        else
            assert_int_equal(comes(i, usual, nodes), SLOW_AS_BEFORE);
        now_s += EVERY_S / (double)nodes;
    }
    return change;
}

/* Returns after how many rounds node 1 is slow; 0: it is not, in all of them. */
static int slow_after(const char *usual, const char *own, size_t nodes)
{
    int i;

    for (i = 1; i <= 3 * SLOW_IN_A_ROW; i++)
        if (round_of(usual, own, nodes) == SLOW_BEGINS)
            return i;
    return 0;
}

#define GPU(mhz, busy, reasons)                                                            \
    "{\"gpus\":[{\"gpu\":5,\"mhz\":" mhz ",\"mhz_most\":1980,\"busy\":" busy                   \
    ",\"reasons\":" reasons ",\"mw\":412000,\"mw_most\":700000,\"celsius\":88,"             \
    "\"pcie_speed\":5,\"pcie_lanes\":16}]}"
#define PORT(name, state, gbits)                                                           \
    "{\"ports\":[{\"port\":\"" name "\",\"state\":" state ",\"gbits\":" gbits "}]}"
#define WELL GPU("1965", "97", "0")

static void test_each(void **unused)
{
    static const struct {
        const char *usual, *own, *why; /* NULL: it is not slow */
    } rows[] = {
        { WELL, WELL, NULL },
        { WELL, GPU("1095", "97", "64"),
          "GPU 5 runs at 1095 MHz, the median of all at 1965 MHz (hardware thermal slowdown, "
          "412 of 700 W, 88 C)" },
        { WELL, GPU("1095", "97", "4"),
          "GPU 5 runs at 1095 MHz, the median of all at 1965 MHz (412 of 700 W, 88 C)" },
        { WELL, GPU("1671", "97", "0"), NULL }, /* 0.8504 of the median */
        { WELL, GPU("1670", "97", "0"),
          "GPU 5 runs at 1670 MHz, the median of all at 1965 MHz (412 of 700 W, 88 C)" },
        { WELL, GPU("345", "49", "1"), NULL }, /* it is idle */
        { WELL, GPU("1965", "97", "128"),
          "GPU 5 is slowed down, as most are not (power brake, 412 of 700 W, 88 C)" },
        { WELL, GPU("1965", "97", "32"),
          "GPU 5 is slowed down, as most are not (thermal slowdown, 412 of 700 W, 88 C)" },
        { WELL, GPU("1965", "97", "4"), NULL }, /* its power limit */
        { GPU("1095", "97", "64"), GPU("1095", "97", "64"), NULL },
        { GPU("1095", "97", "64"), WELL, NULL },
        { WELL,
          "{\"gpus\":[{\"gpu\":5,\"busy\":97,\"pcie_speed\":5,\"pcie_lanes\":8}]}",
          "the PCIe link of GPU 5 does 256 GT/s, the median is 512" },
        { PORT("mlx5_0/1", "4", "400"), PORT("mlx5_0/1", "4", "400"), NULL },
        { PORT("mlx5_0/1", "4", "400"), PORT("mlx5_0/1", "4", "200"),
          "port mlx5_0/1 runs at 200 Gb/s, the median is 400" },
        { PORT("mlx5_0/1", "4", "400"), PORT("mlx5_0/1", "1", "10"),
          "port mlx5_0/1 is not active, as it is on other nodes" },
        { PORT("mlx5_0/1", "1", "10"), PORT("mlx5_0/1", "1", "10"), NULL },
        { PORT("mlx5_0/1", "4", "400"), PORT("mlx5_9/1", "4", "100"), NULL },
        { "{\"throttled\":0}", "{\"throttled\":3}",
          "a processor is too hot and runs slower, as on most nodes none does" },
        { "{\"throttled\":3}", "{\"throttled\":3}", NULL },
    };
    size_t i;

    (void)unused;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int after = slow_after(rows[i].usual, rows[i].own, NODES);

        /* While only two have said something there is no median. */
        if ((after > 0) != (rows[i].why != NULL) || (after > 0 && after > SLOW_IN_A_ROW + 1))
            fail_msg("row %zu: %d", i, after);
        if (after > 0)
            assert_string_equal(node[1].why, rows[i].why);
        end(NULL);
    }
}

static void test_again(void **unused)
{
    const char *const slow = GPU("1095", "97", "0");
    int               i;

    (void)unused;
    assert_in_range(slow_after(WELL, slow, NODES), SLOW_IN_A_ROW, SLOW_IN_A_ROW + 1);
    for (i = 0; i < 100; i++) /* it is said once */
        assert_int_equal(round_of(WELL, slow, NODES), SLOW_AS_BEFORE);
    for (i = 1; i < SLOW_IN_A_ROW; i++)
        assert_int_equal(round_of(WELL, WELL, NODES), SLOW_AS_BEFORE);
    assert_int_equal(round_of(WELL, slow, NODES), SLOW_AS_BEFORE); /* not well for long enough */
    for (i = 1; i < SLOW_IN_A_ROW; i++)
        assert_int_equal(round_of(WELL, WELL, NODES), SLOW_AS_BEFORE);
    assert_true(node[1].is_slow);
    assert_int_equal(round_of(WELL, WELL, NODES), SLOW_IS_OVER);
    for (i = 1; i < SLOW_IN_A_ROW; i++)
        assert_int_equal(round_of(WELL, slow, NODES), SLOW_AS_BEFORE);
    assert_int_equal(round_of(WELL, slow, NODES), SLOW_BEGINS);
    slow_node_again(&node[1]); /* its ranks start again, and the user knows that it is slow */
    assert_int_equal(slow_after(WELL, slow, NODES), 0);
    assert_true(node[1].is_slow);
}

static void test_break(void **unused)
{
    const char *const slow = GPU("1095", "97", "0");
    int               i;

    (void)unused;
    round_of(WELL, WELL, NODES);
    for (i = 1; i < SLOW_IN_A_ROW; i++)
        assert_int_equal(round_of(WELL, slow, NODES), SLOW_AS_BEFORE);
    now_s += SLOW_STALE_S + 1; /* nothing is heard of any node */
    for (i = 0; i < 3; i++)
        assert_int_equal(round_of(WELL, slow, NODES), SLOW_AS_BEFORE);
    assert_in_range(node[1].off, 1, 3);
    assert_false(node[1].is_slow);
}

static void test_few(void **unused)
{
    const char *const slow = GPU("1095", "97", "0");

    (void)unused;
    assert_int_equal(slow_after(WELL, slow, 2), 0);
    end(NULL);
    assert_in_range(slow_after(WELL, slow, 3), SLOW_IN_A_ROW, SLOW_IN_A_ROW + 1);
    end(NULL);
    /* Two ports of one node are two names. */
    assert_int_equal(slow_after(PORT("mlx5_0/1", "4", "400"), PORT("mlx5_0/1", "4", "100"), 2), 0);
}

/* The GPUs of one node are compared with each other. */
static void test_one_node(void **unused)
{
    const char *const body =
        "{\"gpus\":[{\"gpu\":0,\"mhz\":1980,\"mhz_most\":1980,\"busy\":97},"
        "{\"gpu\":1,\"mhz\":990,\"mhz_most\":1980,\"busy\":97},"
        "{\"gpu\":2,\"mhz\":900,\"mhz_most\":1980,\"busy\":97},"
        "{\"gpu\":3,\"mhz\":1980,\"mhz_most\":1980,\"busy\":97}]}";
    enum slow_change change = SLOW_AS_BEFORE;
    int              i;

    (void)unused;
    for (i = 0; i < SLOW_IN_A_ROW; i++, now_s += EVERY_S)
        change = comes(0, body, 1);
    assert_int_equal(change, SLOW_BEGINS);
    assert_string_equal(node[0].why, "GPU 2 runs at 900 MHz, the median of all at 1980 MHz; "
                                     "1 more of its GPUs is off, too");
}

/* A node whose ranks do fewer steps than those of others, in the same time. */
static void test_pace(void **unused)
{
    struct slow_pace pace[3] = { { .marks = 0 } };
    enum slow_change change = SLOW_AS_BEFORE;
    double           each;
    int              i, n;

    (void)unused;
    for (i = 0; i < 20 && change == SLOW_AS_BEFORE; i++, now_s += EVERY_S) {
        for (n = 0; n < 3; n++) {
            slow_sample_begin(&node[n].sample, EVERY_S, now_s);
            each = slow_pace_note(&pace[n], (n == 1 ? 10 : 20) * i, now_s, 3 * EVERY_S);
            if (each >= 0)
                slow_sample_add_pace(&node[n].sample, each);
        }
        slow_world_look(&world, (const struct slow_node *[]){ &node[0], &node[1], &node[2] }, 3,
                        EVERY_S, now_s);
        for (n = 0; n < 3; n++)
            if (slow_node_judge(&node[n], &world, now_s) == SLOW_BEGINS && n == 1)
                change = SLOW_BEGINS;
    }
    assert_int_equal(change, SLOW_BEGINS);
    assert_false(node[0].is_slow || node[2].is_slow);
    assert_string_equal(node[1].why,
                        "its ranks do 60.00 steps in a minute, the median is 120.00");
}

static void test_pace_note(void **unused)
{
    struct slow_pace pace = { 0 };

    (void)unused;
    assert_true(slow_pace_note(&pace, 100, 50, 30) < 0);
    assert_true(slow_pace_note(&pace, 110, 60, 30) < 0);
    assert_true(slow_pace_note(&pace, 160, 80, 30) == 2);
    assert_true(slow_pace_note(&pace, 160, 80, 30) == 2); /* no step since */
    assert_true(slow_pace_note(&pace, 170, 90, 30) == 1.75);
    assert_true(slow_pace_note(&pace, 200, 110, 30) == 40 / 30.0);
    assert_true(slow_pace_note(&pace, 3, 120, 30) < 0); /* another epoch */
    assert_true(slow_pace_note(&pace, 33, 150, 30) == 1);
    assert_true(slow_pace_note(&pace, 43, 140, 30) < 0); /* the clock is not ours */
}

/* What a node sends may be anything: it is left out, or bounded. */
static void test_bad(void **unused)
{
    static const char *const bad[] = {
        "{}",
        "[]",
        "7",
        "{\"gpus\":7, \"ports\":\"x\", \"throttled\":[]}",
        "{\"gpus\":[7,null,[],{}], \"ports\":[7,null,[],{}]}",
        "{\"gpus\":[{\"gpu\":-1,\"mhz\":1,\"mhz_most\":1,\"busy\":99}]}",
        "{\"gpus\":[{\"gpu\":1,\"mhz\":1,\"mhz_most\":0,\"busy\":99}]}",
        "{\"gpus\":[{\"gpu\":1,\"mhz\":1.5,\"mhz_most\":\"2\",\"busy\":99}]}",
        "{\"gpus\":[{\"gpu\":1,\"mhz\":99999999999999,\"mhz_most\":1980,\"busy\":99}]}",
        "{\"gpus\":[{\"gpu\":1,\"busy\":99,\"pcie_speed\":99,\"pcie_lanes\":16}]}",
        "{\"gpus\":[{\"gpu\":1,\"busy\":99,\"pcie_speed\":5,\"pcie_lanes\":-16}]}",
        "{\"ports\":[{\"port\":\"\",\"state\":4,\"gbits\":400}]}",
        "{\"ports\":[{\"port\":7,\"state\":4,\"gbits\":400}]}",
        "{\"ports\":[{\"port\":\"a\",\"gbits\":400}]}",
        "{\"throttled\":-1}",
    };
    struct slow_sample sample = { 0 };
    char              *many;
    json_t            *json;
    size_t             i;

    (void)unused;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        json = json_loads(bad[i], JSON_DECODE_ANY, NULL);
        assert_non_null(json);
        slow_sample_read(&sample, json, now_s);
        if (sample.points != 0 || sample.every_s != 10)
            fail_msg("%s", bad[i]);
        json_decref(json);
    }
    json = json_pack("{s:f, s:[], s:[]}", "every_s", 1e300, "gpus", "ports");
    for (i = 0; i < 1000; i++) {
        many = xasprintf("port %zu with a name that is much longer than any that we know", i);
        json_array_append_new(json_object_get(json, "gpus"),
                              json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "gpu", (int)i, "mhz",
                                        1, "mhz_most", 2, "busy", 99, "reasons", 255,
                                        "pcie_speed", 1, "pcie_lanes", 1));
        json_array_append_new(json_object_get(json, "ports"),
                              json_pack("{s:s, s:i, s:i}", "port", many, "state", 4, "gbits", 1));
        free(many);
    }
    json_object_set_new(json, "throttled", json_integer(1));
    slow_sample_read(&sample, json, now_s);
    assert_int_equal(sample.points, SLOW_DEVICES_MAX * 5 + 1);
    assert_true(sample.every_s == 10);
    json_decref(json);
    slow_sample_clear(&sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each, begin, end),
        cmocka_unit_test_setup_teardown(test_again, begin, end),
        cmocka_unit_test_setup_teardown(test_break, begin, end),
        cmocka_unit_test_setup_teardown(test_few, begin, end),
        cmocka_unit_test_setup_teardown(test_one_node, begin, end),
        cmocka_unit_test_setup_teardown(test_pace, begin, end),
        cmocka_unit_test_setup_teardown(test_pace_note, begin, end),
        cmocka_unit_test_setup_teardown(test_bad, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
