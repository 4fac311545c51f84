/* test_cost.c - how each second of each node is counted, as a table of events
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

#include "elastic/cost.h"

/* Plays "0 +a 5 begin 15 good": a time in seconds, and the event then. +a: node a comes as a
 * member; *a: it comes as a spare; -a: it leaves. */
static void play(struct cost *cost, const char *text)
{
    char  *copy = strdup(text), *rest = NULL, *word;
    double now_s = 0;

    for (word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (word[0] >= '0' && word[0] <= '9')
            now_s = strtod(word, NULL);
        else if (strcmp(word, "begin") == 0)
            cost_begin(cost, now_s);
        else if (strcmp(word, "saved") == 0)
            cost_checkpoint(cost, 0, now_s);
        else if (strcmp(word, "saved2") == 0)
            cost_checkpoint(cost, 2, now_s);
        else if (strcmp(word, "good") == 0 || strcmp(word, "bad") == 0)
            cost_end(cost, word[0] == 'g', now_s);
        else if (strcmp(word, "now") == 0)
            cost_advance(cost, now_s);
        else
            cost_here(cost, cost_node(cost, word + 1), word[0] != '-', word[0] != '*', now_s);
    }
    free(copy);
}

static void test_seconds(void **state)
{
    static const struct {
        const char *what, *nodes; /* useful, lost, waiting, open of each */
    } row[] = {
        { "", "" },
        { "0 +a 5 begin 15 good", "a 10 0 5 0;" },
        { "0 +a 5 begin 15 bad", "a 0 10 5 0;" },
        { "0 +a 5 begin 12 saved 15 bad", "a 7 3 5 0;" },
        { "0 +a 5 begin 8 saved 12 saved 15 bad 20 begin 30 good 31 -a 99 now", "a 17 3 11 0;" },
        { "0 +a 5 begin 15 now", "a 0 0 5 10;" },
        { "0 +a 5 begin 12 saved2 15 bad", "a 5 5 5 0;" }, /* it was seen 2 s later */
        { "0 +a 5 begin 6 saved2 15 bad", "a 0 10 5 0;" },
        { "0 +a 5 begin 9 saved 10 saved2 15 now", "a 4 0 5 6;" },
        { "0 +a *b 5 begin 15 good 16 now", "a 10 0 6 0;b 0 0 16 0;" },
        { "0 +a +b 1 begin 4 -b 6 bad 7 +c 8 begin 18 good", "a 10 5 3 0;b 0 3 1 0;c 10 0 1 0;" },
        { "0 +a 5 saved 6 good 7 now", "a 0 0 7 0;" },
        { "5 +a 4 begin 6 begin 3 saved 8 good", "a 3 0 0 0;" },
    };
    size_t i, n;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        struct cost cost = { 0 };
        char        text[200] = "";

        play(&cost, row[i].what);
        for (n = 0; n < cost.count; n++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s %g %g %g %g;",
                     cost.node[n].name, cost.node[n].useful_s, cost.node[n].lost_s,
                     cost.node[n].waiting_s, cost.node[n].open_s);
        assert_string_equal(text, row[i].nodes);
        cost_clear(&cost);
    }
}

static void test_money(void **state)
{
    struct cost     cost = { 0 };
    struct cost_sum sum;

    (void)state;
    play(&cost, "0 +a +b 3600 begin 10800 bad 14400 begin 18000 good");
    cost.node[0].class = cost_class("spot");
    cost.node[0].price = 1;
    cost.node[1].class = cost_class("on-demand");
    cost.node[1].price = 4;
    sum = cost_sum(&cost, NULL);
    assert_true(sum.hours == 10 && sum.useful == 2 && sum.lost == 4 && sum.waiting == 4);
    assert_true(sum.goodput == 0.2 && sum.money == 25 && sum.on_demand == COST_UNKNOWN);
    cost.node[0].on_demand_price = 4;
    sum = cost_sum(&cost, NULL);
    assert_true(sum.on_demand == 40);
    sum = cost_sum(&cost, "spot");
    assert_true(sum.hours == 5 && sum.money == 5 && sum.on_demand == 20);
    cost.node[1].price = COST_UNKNOWN;
    assert_true(cost_sum(&cost, NULL).money == COST_UNKNOWN);
    assert_null(cost_class("Spot"));
    cost_clear(&cost);
}

static void test_text(void **state)
{
    struct cost cost = { 0 };
    char       *text = NULL;
    size_t      size, i, column = 0, lines = 0;
    FILE       *out = open_memstream(&text, &size);

    (void)state;
    play(&cost, "0 +a.very.long.name.of.a.node.example.com *b 36000000 begin 72000000 bad");
    cost.node[0].price = 9;
    cost_print(&cost, out);
    fclose(out);
    for (i = 0; i < size; i++) {
        column = text[i] == '\n' ? 0 : column + 1;
        lines += text[i] == '\n';
        assert_true(column <= 80);
    }
    assert_int_equal(lines, 5);
    assert_non_null(strstr(text, "cost: 40000.0 node hours: 0.0 % useful, 25.0 % lost, 75.0 %"));
    free(text);
    cost_clear(&cost);
}

static void test_json(void **state)
{
    static const char *const bad[] = {
        "{}", "[]", "{\"nodes\":7}", "{\"nodes\":[7]}", "{\"nodes\":[{\"node\":\"a\"}]}",
        "{\"nodes\":[{\"node\":\"a\",\"class\":\"x\",\"useful_s\":1,\"lost_s\":1,"
        "\"waiting_s\":1,\"open_s\":1}]}",
        "{\"nodes\":[{\"node\":\"a\",\"class\":\"spot\",\"useful_s\":-1,\"lost_s\":1,"
        "\"waiting_s\":1,\"open_s\":1}]}",
        "{\"nodes\":[{\"node\":\"a\",\"class\":\"spot\",\"useful_s\":1e99,\"lost_s\":1,"
        "\"waiting_s\":1,\"open_s\":1}]}",
        "{\"nodes\":[{\"node\":\"a\",\"class\":\"spot\",\"useful_s\":\"1\",\"lost_s\":1,"
        "\"waiting_s\":1,\"open_s\":1}]}",
        "{\"nodes\":[{\"node\":\"a\",\"class\":\"spot\",\"useful_s\":1,\"lost_s\":1,"
        "\"waiting_s\":1,\"open_s\":1,\"price\":-2}]}",
    };
    struct cost  cost = { 0 }, again;
    struct error err;
    json_t      *json, *other;
    size_t       i;

    (void)state;
    play(&cost, "0 +a *b 5 begin 12 saved 15 now");
    cost.node[0].price = 2;
    json = cost_json(&cost);
    assert_int_equal(cost_from_json(&again, json, false, &err), 0);
    other = cost_json(&again);
    assert_true(json_equal(json, other));
    json_decref(other);
    cost_clear(&again);
    assert_int_equal(cost_from_json(&again, json, true, &err), 0);
    assert_true(again.node[0].open_s == 0 && again.node[0].lost_s == 3 &&
                again.node[0].useful_s == 7);
    cost_clear(&again);
    json_decref(json);
    cost_clear(&cost);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        json = json_loads(bad[i], 0, NULL);
        assert_int_equal(cost_from_json(&cost, json, false, &err), -1);
        assert_int_equal(cost.count, 0);
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_money),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
