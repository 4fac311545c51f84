/* test_collectives.c - which ranks wait for each other, by NCCL's counts in several looks
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

#include "elastic/collectives.h"
#include "elastic/hang_rule.h"
#include "xalloc.h"

#define RANKS(COUNT, NAMED) "{\"count\":" COUNT ",\"named\":[" NAMED "]}"

static struct collectives of;
static struct strlist     lines;
static double             now_s;

static int begin(void **state)
{
    (void)state;
    now_s = 100;
    return 0;
}

static int end(void **state)
{
    (void)state;
    collectives_again(&of);
    strlist_clear(&lines);
    return 0;
}

static void rank_name(int rank, char *name, size_t size, const void *arg)
{
    (void)arg;
    snprintf(name, size, "rank %d on te%d", rank, rank / 8 + 1);
}

/* Of 16 ranks, one is late. */
static char *comm(const char *hash, int print, int late, int launched)
{
    return xasprintf("{\"hash\":\"%s\",\"size\":16,\"print\":\"%016d\",\"ops\":[{\"name\":"
                     "\"AllReduce\",\"least\":%d,\"most\":%d,\"ranks\":16,"
                     "\"late\":{\"count\":1,\"named\":[{\"rank\":%d,\"world\":%d,\"pid\":%d,"
                     "\"gpu\":%d,\"host\":\"10.0.0.1\"}]},\"early\":" RANKS("15", "") "}]}",
                     hash, print, launched - 1, launched, late, late, 700 + late, late % 8);
}

/* A look, 30 s after the one before; print: of all. */
static void look(int print, const char *list)
{
    char        *text = xasprintf("{\"communicators\":3,\"wrong\":2,\"print\":\"%016d\",\"list\":"
                                  "[%s]}", print, list);
    json_t      *body = json_loads(text, 0, NULL);
    struct error err;

    assert_non_null(body);
    now_s += 30;
    if (collectives_take(&of, body, now_s, &err) < 0)
        fail_msg("%s", err.text);
    json_decref(body);
    free(text);
}

static size_t words(void)
{
    strlist_clear(&lines);
    collectives_words(&of, now_s, rank_name, NULL, &lines);
    return lines.count;
}

static void test_three_looks(void **state)
{
    char *late = comm("0x1c2b", 7, 3, 120);
    int   i;

    (void)state;
    for (i = 0; i < 2; i++) {
        look(1, late);
        assert_int_equal(0, words());
        assert_true(collectives_stuck_s(&of, now_s) < 0);
    }
    look(1, late);
    assert_int_equal(1, words());
    assert_string_equal("NCCL: communicator 0x1c2b (16 ranks): rank 3 on te1 (pid 703, GPU 3) "
                        "launched 119 AllReduce, the other 15 120; the same for 60 s",
                        lines.item[0]);
    assert_true(collectives_stuck_s(&of, now_s) == 60);
    free(late);
}

/* Counts that move: ranks that work differ in each look. */
static void test_moving(void **state)
{
    char *late;
    int   i;

    (void)state;
    for (i = 0; i < 10; i++) {
        late = comm("0x1c2b", i, 3, 120 + i);
        look(i, late);
        assert_int_equal(0, words());
        assert_true(collectives_stuck_s(&of, now_s) < 0);
        free(late);
    }
}

/* One that stands still while others work is named, and is no hang. */
static void test_others_work(void **state)
{
    char *late = comm("0x1c2b", 7, 3, 120);
    int   i;

    (void)state;
    for (i = 0; i < 4; i++)
        look(i, late);
    assert_int_equal(1, words());
    assert_true(collectives_stuck_s(&of, now_s) < 0);
    free(late);
}

/* They may come in another order in each look. */
static void test_two(void **state)
{
    char *one = comm("0xa1", 7, 3, 8), *two = comm("0xb2", 8, 9, 6);
    char *list = xasprintf("%s,%s", one, two), *turned = xasprintf("%s,%s", two, one);

    (void)state;
    look(1, list);
    look(1, turned);
    look(1, list);
    assert_int_equal(2, words());
    assert_non_null(strstr(lines.item[0], "0xa1 (16 ranks): rank 3 on te1 (pid 703, GPU 3)"));
    assert_non_null(strstr(lines.item[1], "0xb2 (16 ranks): rank 9 on te2 (pid 709, GPU 1)"));
    free(turned);
    free(list);
    free(two);
    free(one);
}

static void test_again(void **state)
{
    char *late = comm("0x1c2b", 7, 3, 120);

    (void)state;
    look(1, late);
    look(1, late);
    collectives_again(&of);
    look(1, late);
    assert_int_equal(0, words());
    free(late);
}

/* A look without an answer does not count, and breaks nothing. */
static void test_no_answer(void **state)
{
    char        *late = comm("0x1c2b", 7, 3, 120);
    json_t      *none = json_pack("{s:s}", "error", "Connection refused");
    struct error err;

    (void)state;
    look(1, late);
    look(1, late);
    assert_int_equal(0, collectives_take(&of, none, now_s, &err));
    assert_int_equal(0, words());
    look(1, late);
    assert_int_equal(1, words());
    json_decref(none);
    free(late);
}

static void test_other_words(void **state)
{
    static const char few[] =
        "{\"hash\":\"0x1\",\"size\":0,\"print\":\"0000000000000007\",\"ops\":[{\"name\":\"\","
        "\"least\":3,\"most\":9,\"ranks\":9,\"late\":" RANKS("7", "") ",\"early\":"
        RANKS("1", "{\"rank\":5,\"world\":-1,\"pid\":7,\"gpu\":2,\"host\":\"10.0.0.9\"}") "}],"
        "\"missing\":"
        RANKS("1", "{\"rank\":6,\"world\":6,\"pid\":-1,\"gpu\":-1,\"host\":\"\",\"silent\":true}")
        "}";
    int i;

    (void)state;
    for (i = 0; i < 3; i++)
        look(1, few);
    assert_int_equal(2, words());
    assert_string_equal("NCCL: communicator 0x1: its rank 5 (pid 7, GPU 2 at 10.0.0.9) launched 9 "
                        "collectives, 7 ranks only 3; the same for 60 s", lines.item[0]);
    assert_string_equal("NCCL: communicator 0x1: rank 6 on te1 did not answer the other ranks; the "
                        "same for 60 s", lines.item[1]);
}

/* Ranks that are missing alone may have left. */
static void test_missing_is_no_hang(void **state)
{
    static const char gone[] =
        "{\"hash\":\"0x1\",\"size\":2,\"print\":\"0000000000000007\",\"ops\":[],\"missing\":"
        RANKS("1", "{\"rank\":1,\"world\":1,\"pid\":7,\"gpu\":0,\"host\":\"\",\"silent\":false}")
        "}";
    int i;

    (void)state;
    for (i = 0; i < 5; i++)
        look(1, gone);
    assert_true(collectives_stuck_s(&of, now_s) < 0);
    assert_int_equal(1, words());
    assert_non_null(strstr(lines.item[0], "had left it, or not joined it"));
}

#define PRINT "\"print\":\"0123456789abcdef\""
#define BODY(LIST) "{\"communicators\":1,\"wrong\":1," PRINT ",\"list\":[" LIST "]}"
#define OP(REST)                                                  \
    BODY("{\"hash\":\"0x1\",\"size\":1," PRINT ",\"ops\":[{\"name\":\"A\"," \
         "\"ranks\":2," REST "}]}")

static void test_refused(void **state)
{
    static const char *const row[] = {
        "{}",
        "{\"communicators\":1,\"wrong\":0,\"print\":\"1\",\"list\":[]}",
        "{\"communicators\":-1,\"wrong\":0," PRINT ",\"list\":[]}",
        "{\"communicators\":1,\"wrong\":0,\"print\":\"0123456789abcde\\u001b\",\"list\":[]}",
        BODY("1"),
        BODY("{\"hash\":\"a b\",\"size\":1," PRINT ",\"ops\":[]}"),
        BODY("{\"hash\":\"0x1\",\"size\":-1," PRINT ",\"ops\":[]}"),
        BODY("{\"hash\":\"0x1\",\"size\":1," PRINT ",\"ops\":[],\"missing\":3}"),
        OP("\"least\":2,\"most\":2,\"late\":" RANKS("1", "") ",\"early\":" RANKS("1", "")),
        OP("\"least\":-2,\"most\":2,\"late\":" RANKS("1", "") ",\"early\":" RANKS("1", "")),
        OP("\"least\":1,\"most\":2,\"early\":" RANKS("1", "")),
        OP("\"least\":1,\"most\":2,\"late\":" RANKS("1", "{\"rank\":0,\"pid\":1,\"gpu\":1,\"host\":"
           "\"\"}") ",\"early\":" RANKS("1", "")), /* no "world" */
    };
    struct error err;
    json_t      *body;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        body = json_loads(row[i], 0, NULL);
        assert_non_null(body);
        if (collectives_take(&of, body, 1, &err) == 0)
            fail_msg("accepted: %s", row[i]);
        assert_non_null(strstr(err.text, "COLLECTIVES frame"));
        assert_null(of.last);
        json_decref(body);
    }
}

static void test_json(void **state)
{
    char   *late = comm("0x1c2b", 7, 3, 120);
    json_t *body = collectives_json(&of, now_s);
    int     i;

    (void)state;
    assert_true(json_is_null(body));
    for (i = 0; i < 3; i++)
        look(1, late);
    body = collectives_json(&of, now_s);
    assert_int_equal(3, json_integer_value(json_object_get(body, "communicators")));
    assert_int_equal(1, json_array_size(json_object_get(body, "stuck")));
    json_decref(body);
    free(late);
}

static void test_how_often(void **state)
{
    (void)state;
    assert_true(collectives_every_s(0) == 30);
    assert_true(collectives_every_s(HANG_AUTO) == 30);
    assert_true(collectives_every_s(600) == 30);
    assert_true(collectives_every_s(60) == 15);
    assert_true(collectives_every_s(0.1) > 0.1);
}

/* --- for how long they may wait ------------------------------------------------- */

static enum hang_verdict judge(double limit_s, double stuck_s, double step_s, bool is_last)
{
    const struct step_pace  pace = { 0 };
    const struct hang_signs signs = { .limit_s = limit_s, .stuck_s = stuck_s, .step_s = step_s,
                                      .is_last_step = is_last, .pace = &pace };
    double                  exceeded_s;

    return hang_judge(&signs, &exceeded_s);
}

static void test_hang(void **state)
{
    (void)state;
    assert_int_equal(HANG_NO, judge(60, 59, -1, false));
    assert_int_equal(HANG_COLLECTIVE, judge(60, 60, -1, false));
    assert_int_equal(HANG_NO, judge(60, 90, 30, false)); /* a step came since */
    assert_int_equal(HANG_NO, judge(60, 90, 90, true));  /* they save after the last step */
    assert_int_equal(HANG_NO, judge(HANG_AUTO, 599, -1, false));
    assert_int_equal(HANG_COLLECTIVE, judge(HANG_AUTO, 600, -1, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_three_looks, begin, end),
        cmocka_unit_test_setup_teardown(test_moving, begin, end),
        cmocka_unit_test_setup_teardown(test_others_work, begin, end),
        cmocka_unit_test_setup_teardown(test_two, begin, end),
        cmocka_unit_test_setup_teardown(test_again, begin, end),
        cmocka_unit_test_setup_teardown(test_no_answer, begin, end),
        cmocka_unit_test_setup_teardown(test_other_words, begin, end),
        cmocka_unit_test_setup_teardown(test_missing_is_no_hang, begin, end),
        cmocka_unit_test_setup_teardown(test_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_json, begin, end),
        cmocka_unit_test_setup_teardown(test_how_often, begin, end),
        cmocka_unit_test_setup_teardown(test_hang, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
