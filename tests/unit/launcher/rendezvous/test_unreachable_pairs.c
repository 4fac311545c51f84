/* test_unreachable_pairs.c - which nodes cannot reach each other
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rendezvous/unreachable_pairs.h"

#define MOST 40

static char            host[MOST][8], addr[MOST][16];
static struct reach_node node[MOST];

static struct unreachable_pairs pairs_of(size_t nodes)
{
    size_t i;

    for (i = 0; i < MOST; i++) {
        snprintf(host[i], sizeof host[i], "te%zu", i + 1);
        snprintf(addr[i], sizeof addr[i], "10.0.0.%zu", i + 1);
        node[i] = (struct reach_node){ .host = host[i], .addr = addr[i] };
    }
    return (struct unreachable_pairs){ .node = node, .nodes = nodes };
}

static size_t tried(const struct unreachable_pairs *pairs)
{
    size_t from, to, count = 0;

    for (from = 0; from < MOST; from++)
        for (to = 0; to < MOST; to++)
            count += unreachable_pairs_tries(pairs, from, to);
    return count;
}

static void expect_lines(struct unreachable_pairs *pairs, const char *wanted)
{
    struct strlist lines = { 0 };
    char           text[4096] = "";
    size_t         i, used = 0;

    unreachable_pairs_tell(pairs, &lines);
    for (i = 0; i < lines.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", lines.item[i]);
    assert_string_equal(text, wanted);
    strlist_clear(&lines);
}

static void test_whom(void **state)
{
    struct unreachable_pairs few = pairs_of(PAIRS_ALL), many = pairs_of(PAIRS_ALL + 1);

    (void)state;
    assert_int_equal(tried(&few), PAIRS_ALL * (PAIRS_ALL - 1));
    /* Two neighbours each, and the first node those that are not. */
    assert_int_equal(tried(&many), 2 * (PAIRS_ALL + 1) + PAIRS_ALL - 2);
    assert_true(unreachable_pairs_tries(&many, PAIRS_ALL, 0) &&
                unreachable_pairs_tries(&many, 0, PAIRS_ALL));
    assert_true(unreachable_pairs_tries(&many, 7, 8) && unreachable_pairs_tries(&many, 8, 7) &&
                unreachable_pairs_tries(&many, 7, 0));
    assert_false(unreachable_pairs_tries(&many, 0, 7) || unreachable_pairs_tries(&many, 7, 9) ||
                 unreachable_pairs_tries(&many, 7, 7));
}

static void test_pairs(void **state)
{
    struct unreachable_pairs pairs = pairs_of(4);
    json_t     *json;

    (void)state;
    assert_int_equal(unreachable_pairs_add(&pairs, 3, 2, "No route to host"), 0);
    assert_int_equal(unreachable_pairs_add(&pairs, 2, 0, "timed\nout\033"), 0);
    assert_int_equal(unreachable_pairs_add(&pairs, 0, 2, "timed out"), 0);
    /* What a node should not say. */
    assert_int_equal(unreachable_pairs_add(&pairs, 0, 2, "again"), -1);
    assert_int_equal(unreachable_pairs_add(&pairs, 0, 0, "itself"), -1);
    assert_int_equal(unreachable_pairs_add(&pairs, 0, 4, "nobody"), -1);
    expect_lines(&pairs, "te1 and te3 cannot reach each other (10.0.0.1 -> 10.0.0.3: timed out)\n"
                        "te4 cannot reach te3 (10.0.0.4 -> 10.0.0.3: No route to host)\n");
    json = unreachable_pairs_json(&pairs);
    assert_int_equal(json_array_size(json), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(json, 2), "from")), "te4");
    assert_string_equal(json_string_value(json_object_get(json_array_get(json, 2), "to_addr")),
                        "10.0.0.3");
    assert_null(strchr(json_string_value(json_object_get(json_array_get(json, 1), "why")), '\033'));
    json_decref(json);
    unreachable_pairs_clear(&pairs);
}

static void test_well(void **state)
{
    struct unreachable_pairs few = pairs_of(3), many = pairs_of(20);

    (void)state;
    expect_lines(&few, "all 3 nodes can reach each other\n");
    expect_lines(&many,
                 "all 20 nodes can reach each other\n"
                 "not all pairs were tried: each node tried only its neighbours and te1\n");
}

/* Every one of many: some are shown. */
static void test_many(void **state)
{
    struct unreachable_pairs    pairs = pairs_of(PAIRS_ALL);
    struct strlist lines = { 0 };
    size_t         from, to;
    char           why[300];

    (void)state;
    memset(why, 'x', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    for (from = 0; from < PAIRS_ALL; from++)
        for (to = 0; to < PAIRS_ALL; to++)
            assert_int_equal(unreachable_pairs_add(&pairs, from, to, why), from == to ? -1 : 0);
    unreachable_pairs_tell(&pairs, &lines);
    assert_int_equal(lines.count, PAIRS_SHOWN + 1);
    assert_string_equal(lines.item[PAIRS_SHOWN],
                        "and 104 more pairs of nodes (--json has all)");
    assert_true(strlen(lines.item[0]) < 200);
    strlist_clear(&lines);
    unreachable_pairs_clear(&pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whom),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_well),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests_name("pair", tests, NULL, NULL);
}
