/* test_flight_records.c - which collective ranks do not agree about; records with anything in them
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "outcome/flight_records.h"
#include "xalloc.h"

#define IN    "'op': 'all_reduce', 'in': '[[4]]', "
#define GROUP "{'name': '0', 'desc': 'pg', 'ranks': '0-2', 'calls': ["

static struct flight_records records;
static struct strlist        lines;
static struct plan           plan = { .world_size = 3, .command = COMMAND_RUN };

static int forget(void **state)
{
    (void)state;
    flight_records_clear(&records);
    strlist_clear(&lines);
    return 0;
}

/* Single quotes are easier to read. */
static void take(int rank, const char *text)
{
    char   *quoted = xstrdup(text), *at;
    json_t *body;

    for (at = quoted; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    body = json_loads(quoted, JSON_DECODE_ANY, NULL);
    assert_non_null(body);
    flight_records_take(&records, rank, body);
    json_decref(body);
    free(quoted);
}

static void take_call(int rank, int64_t seq, const char *rest)
{
    char *text = xasprintf("{'groups': [" GROUP "{'seq': %lld, %s}]}]}", (long long)seq, rest);

    take(rank, text);
    free(text);
}

static void say(void)
{
    flight_records_lines(&records, &plan, &lines);
}

/* What ranks 1 and 2 have done; rank 0 has entered call 7, an all_reduce that has not ended. */
static void differences(void **state)
{
    static const struct {
        int         seq[2];
        const char *rest[2], *words;
    } rows[] = {
        { { 7, 6 },
          { IN "'state': 'started'", IN "'state': 'completed'" },
          "rank 2 has not entered all_reduce (a.py:1), number 7, but ranks 0-1 have" },
        { { 6, 6 },
          { IN "'state': 'completed'", IN "'at': 'a.py:1'" },
          "ranks 1-2 have not entered all_reduce (a.py:1), number 7, but rank 0 has" },
        { { 9, 7 },
          { "'op': 'x'", "'op': 'all_reduce', 'in': '[[4]]', 'state': 'started'" },
          "ranks 0,2 have not entered a collective, number 8, but rank 1 has" },
        { { 7, 7 },
          { "'op': 'broadcast', 'at': 'b.py:2'", IN "'at': 'c.py:3'" },
          "different collectives as number 7: ranks 0,2: all_reduce (a.py:1); "
          "rank 1: broadcast (b.py:2)" },
        { { 7, 7 },
          { IN "'at': 'b.py:2'", "'op': 'all_reduce', 'in': '[[5]]'" },
          "the sizes differ as number 7: ranks 0-1: all_reduce (a.py:1) of sizes [[4]]; "
          "rank 2: all_reduce of sizes [[5]]" },
        { { 7, 7 },
          { "'op': 'all_reduce', 'in': '[[4]]', 'state': 'completed'",
            "'op': 'all_reduce', 'in': '[[4]]', 'state': 'scheduled'" },
          "all have entered all_reduce (a.py:1), number 7, but it has not ended on ranks 0,2" },
    };
    char  *line;
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        take_call(0, 7, "'op': 'all_reduce', 'in': '[[4]]', 'state': 'started', 'at': 'a.py:1'");
        take_call(1, rows[i].seq[0], rows[i].rest[0]);
        take_call(2, rows[i].seq[1], rows[i].rest[1]);
        say();
        assert_int_equal(lines.count, 1);
        line = xasprintf("flight recorder: group pg (ranks 0-2): %s", rows[i].words);
        assert_string_equal(lines.item[0], line);
        free(line);
        forget(state);
    }
}

/* Ranks may pass different sizes to it. */
static void sizes_that_may_differ(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < 3; i++)
        take_call(i, 7, i == 0 ? "'op': 'all_to_all', 'in': '[[4]]', 'state': 'completed'"
                               : "'op': 'all_to_all', 'in': '[[5]]', 'state': 'completed'");
    say();
    assert_int_equal(lines.count, 0);
}

static void groups_apart(void **state)
{
    (void)state;
    take(0, "{'groups': [{'name': '1', 'desc': 'tp', 'ranks': '0-1', 'calls': [{'seq': 4, 'op':"
            "'all_reduce', 'state': 'started'}]}, {'name': '2', 'desc': 'dp', 'ranks': '0,2',"
            "'calls': [{'seq': 3, 'op': 'all_reduce', 'state': 'completed'}]}]}");
    take(1, "{'groups': [{'name': '1', 'desc': 'tp', 'ranks': '0-1', 'calls': []}]}");
    take(2, "{'groups': [{'name': '2', 'desc': 'dp', 'ranks': '0,2', 'calls': [{'seq': 3, 'op':"
            "'all_reduce', 'state': 'completed'}, {'seq': 9, 'p2p': true, 'op': 'recv 2<-1',"
            "'state': 'started', 'at': 'pipe.py:5'}]}]}");
    say();
    assert_int_equal(lines.count, 2);
    assert_string_equal(lines.item[0], "flight recorder: group tp (ranks 0-1): rank 1 has not "
                                       "entered a collective, number 1, but rank 0 has");
    assert_string_equal(lines.item[1],
                        "flight recorder: rank 2: recv 2<-1 (pipe.py:5), number 9, has not ended");
}

static void ranks_without(void **state)
{
    (void)state;
    take(0, "{'groups': []}");
    take(1, "{'error': 'cut\\u001b[31m'}");
    say();
    assert_int_equal(lines.count, 2);
    assert_string_equal(lines.item[0], "flight recorder: no record of rank 1: cut^[[31m");
    assert_string_equal(lines.item[1], "flight recorder: no record of rank 2: none was written");
}

static void later_records_count(void **state)
{
    (void)state;
    take_call(0, 7, "'op': 'all_reduce', 'state': 'completed'");
    take_call(1, 7, "'op': 'all_reduce', 'state': 'completed'");
    take_call(2, 6, "'op': 'all_reduce', 'state': 'completed'");
    take_call(2, 7, "'op': 'all_reduce', 'state': 'completed'");
    take(2, "{'error': 'too late'}");
    say();
    assert_int_equal(lines.count, 0);
    flight_records_forget(&records, 1, 2);
    say();
    assert_int_equal(lines.count, 1);
    assert_string_equal(lines.item[0],
                        "flight recorder: no record of ranks 1-2: none was written");
}

/* A node may send anything. */
static void anything(void **state)
{
    static const char *const rows[] = {
        "null", "7", "[]", "{}", "{'groups': 7}", "{'groups': {'a': 1}}", "{'groups': [7, null]}",
        "{'groups': [{}]}", "{'groups': [{'calls': 7}]}", "{'groups': [{'calls': [7, {}, []]}]}",
        "{'groups': [{'calls': [{'seq': 9223372036854775807, 'op': 'all_reduce'}]}]}",
        "{'groups': [{'calls': [{'seq': -9223372036854775808}]}]}",
        "{'groups': [{'calls': [{'seq': 1.5, 'op': 3, 'state': [], 'p2p': 'no'}]}]}",
        "{'error': 7}", "{'error': ''}",
    };
    size_t i, j;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        for (j = 0; j < sizeof rows / sizeof *rows; j++) {
            take(0, rows[i]);
            take(1, rows[j]);
            say();
            assert_true(lines.count <= FLIGHT_RECORDS_LINES_MAX);
            forget(NULL);
        }
}

static void no_more_than_fits(void **state)
{
    char *long_text = xcalloc(1, (1 << 20) + 1), *text;
    int   i;

    (void)state;
    memset(long_text, 'x', 1 << 20);
    text = xasprintf("{'error': '%s'}", long_text);
    for (i = 0; i < 40; i++)
        take(i, text);
    assert_true(records.size <= FLIGHT_RECORDS_MAX);
    assert_true(records.size > FLIGHT_RECORDS_MAX - (2 << 20));
    free(text);
    free(long_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(differences, forget),
        cmocka_unit_test_teardown(sizes_that_may_differ, forget),
        cmocka_unit_test_teardown(groups_apart, forget),
        cmocka_unit_test_teardown(ranks_without, forget),
        cmocka_unit_test_teardown(later_records_count, forget),
        cmocka_unit_test_teardown(anything, forget),
        cmocka_unit_test_teardown(no_more_than_fits, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
