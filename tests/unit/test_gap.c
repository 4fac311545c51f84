/* test_gap.c - which nodes do not reach each other
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run/unreachable_pairs.h"

#define MOST 40

static char            host[MOST][8], addr[MOST][16];
static struct gap_node node[MOST];

static struct gaps gaps_of(size_t nodes)
{
    size_t i;

    for (i = 0; i < MOST; i++) {
        snprintf(host[i], sizeof host[i], "te%zu", i + 1);
        snprintf(addr[i], sizeof addr[i], "10.0.0.%zu", i + 1);
        node[i] = (struct gap_node){ .host = host[i], .addr = addr[i] };
    }
    return (struct gaps){ .node = node, .nodes = nodes };
}

static size_t tried(const struct gaps *gaps)
{
    size_t from, to, count = 0;

    for (from = 0; from < MOST; from++)
        for (to = 0; to < MOST; to++)
            count += gaps_tries(gaps, from, to);
    return count;
}

static void expect_lines(struct gaps *gaps, const char *wanted)
{
    struct strlist lines = { 0 };
    char           text[4096] = "";
    size_t         i, used = 0;

    gaps_tell(gaps, &lines);
    for (i = 0; i < lines.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", lines.item[i]);
    assert_string_equal(text, wanted);
    strlist_clear(&lines);
}

static void test_whom(void **state)
{
    struct gaps few = gaps_of(GAPS_ALL), many = gaps_of(GAPS_ALL + 1);

    (void)state;
    assert_int_equal(tried(&few), GAPS_ALL * (GAPS_ALL - 1));
    /* Two neighbours each, and the first node those that are not. */
    assert_int_equal(tried(&many), 2 * (GAPS_ALL + 1) + GAPS_ALL - 2);
    assert_true(gaps_tries(&many, GAPS_ALL, 0) && gaps_tries(&many, 0, GAPS_ALL));
    assert_true(gaps_tries(&many, 7, 8) && gaps_tries(&many, 8, 7) && gaps_tries(&many, 7, 0));
    assert_false(gaps_tries(&many, 0, 7) || gaps_tries(&many, 7, 9) || gaps_tries(&many, 7, 7));
}

static void test_pairs(void **state)
{
    struct gaps gaps = gaps_of(4);
    json_t     *json;

    (void)state;
    assert_int_equal(gaps_add(&gaps, 3, 2, "No route to host"), 0);
    assert_int_equal(gaps_add(&gaps, 2, 0, "timed\nout\033"), 0);
    assert_int_equal(gaps_add(&gaps, 0, 2, "timed out"), 0);
    /* What a node should not say. */
    assert_int_equal(gaps_add(&gaps, 0, 2, "again"), -1);
    assert_int_equal(gaps_add(&gaps, 0, 0, "itself"), -1);
    assert_int_equal(gaps_add(&gaps, 0, 4, "nobody"), -1);
    expect_lines(&gaps, "te1 and te3 do not reach each other (10.0.0.1 -> 10.0.0.3: timed out)\n"
                        "te4 does not reach te3 (10.0.0.4 -> 10.0.0.3: No route to host)\n");
    json = gaps_json(&gaps);
    assert_int_equal(json_array_size(json), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(json, 2), "from")), "te4");
    assert_string_equal(json_string_value(json_object_get(json_array_get(json, 2), "to_addr")),
                        "10.0.0.3");
    assert_null(strchr(json_string_value(json_object_get(json_array_get(json, 1), "why")), '\033'));
    json_decref(json);
    gaps_clear(&gaps);
}

static void test_well(void **state)
{
    struct gaps few = gaps_of(3), many = gaps_of(20);

    (void)state;
    expect_lines(&few, "the 3 nodes reach each other\n");
    expect_lines(&many, "the 20 nodes reach each other\n"
                        "not all pairs were tried: each node its neighbours and te1\n");
}

/* Every one of many: some are shown. */
static void test_many(void **state)
{
    struct gaps    gaps = gaps_of(GAPS_ALL);
    struct strlist lines = { 0 };
    size_t         from, to;
    char           why[300];

    (void)state;
    memset(why, 'x', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    for (from = 0; from < GAPS_ALL; from++)
        for (to = 0; to < GAPS_ALL; to++)
            assert_int_equal(gaps_add(&gaps, from, to, why), from == to ? -1 : 0);
    gaps_tell(&gaps, &lines);
    assert_int_equal(lines.count, GAPS_SHOWN + 1);
    assert_string_equal(lines.item[GAPS_SHOWN],
                        "and 104 more pairs of nodes (--json has all)");
    assert_true(strlen(lines.item[0]) < 200);
    strlist_clear(&lines);
    gaps_clear(&gaps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whom),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_well),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests_name("gap", tests, NULL, NULL);
}
