/* test_event.c - what an event says, and which events wait
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hook/event.h"
#include "hook/event_queue.h"
#include "options/options.h"
#include "xalloc.h"

static const struct event_about about = {
    .run_id = "20261130-103000-c3d4",
    .host = "login1",
    .script = "train.py",
    .generation = 2,
    .nodes = 3,
    .world_size = 24,
    .at = 1796034667, /* 2026-11-30T10:31:07Z */
};

static void expect_json(json_t *made, const char *expected)
{
    char *text = json_dumps(made, JSON_COMPACT);

    assert_string_equal(text, expected);
    free(text);
    json_decref(made);
}

static void an_event_says_of_which_run(void **state)
{
    (void)state;
    expect_json(event_make(&about, "started", NULL, "24 ranks"),
                "{\"event\":\"started\",\"run_id\":\"20261130-103000-c3d4\","
                "\"time\":\"2026-11-30T10:31:07Z\",\"host\":\"login1\",\"script\":\"train.py\","
                "\"generation\":2,\"nodes\":3,\"world_size\":24,"
                "\"text\":\"20261130-103000-c3d4 (train.py): 24 ranks\"}");
}

static void its_own_words_come_last(void **state)
{
    struct event_about named = about;
    json_t            *made;

    (void)state;
    named.name = "night";
    made = event_make(&named, "failed", json_pack("{s:s, s:i, s:b}", "role", "actor", "generation",
                                                  7, "goes_on", 1),
                      "te1\033[31m fails");
    assert_string_equal(json_string_value(json_object_get(made, "name")), "night");
    assert_string_equal(json_string_value(json_object_get(made, "role")), "actor");
    assert_string_equal(json_string_value(json_object_get(made, "text")),
                        "night (train.py): te1^[[31m fails");
    assert_int_equal(json_integer_value(json_object_get(made, "generation")), 7);
    assert_true(json_is_true(json_object_get(made, "goes_on")));
    json_decref(made);
}

static void texts_are_safe_and_short(void **state)
{
    static const struct {
        const char *text;
        size_t      max;
        const char *expected;
    } cases[] = {
        { "", 10, "" },
        { "one\ntwo\n", 10, "one\ntwo\n" },
        { "\n\n", 10, "\n\n" },
        { "a\033[2Jb\rc", 20, "a^[[2Jb^Mc" },
        { "\xff\xfe", 10, "\\xff\\xfe" },
        { "1234567890", 10, "1234567890" },
        { "12345678901", 10, "1234567890..." },
        { "12345\n78901", 6, "12345\n..." },
        { "12345\n78901", 5, "12345..." },
        { "\xc3\xa4\xc3\xa4", 3, "\xc3\xa4..." }, /* not within a character */
        { "\xe2\x82\xac", 2, "..." },
        { "\x80\x80\x80\x80", 2, "..." }, /* they begin none */
        { "anything", 0, "..." },
    };
    json_t *made;
    size_t  i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        made = event_string(cases[i].text, cases[i].max);
        assert_string_equal(json_string_value(made), cases[i].expected);
        json_decref(made);
    }
}

static void scripts_have_no_arguments(void **state)
{
    struct options role[] = { { .script = (char *)"actor.py" },
                              { .script = (char *)"server.py" },
                              { .script = (char *)"actor.py" } };
    struct options one = { .script = (char *)"train.py" };
    struct options roles = { .role = role, .roles = 3 };
    char          *text;

    (void)state;
    strlist_add(&one.args, "--token=secret");
    text = event_script(&one);
    assert_string_equal(text, "train.py");
    free(text);
    text = event_script(&roles);
    assert_string_equal(text, "actor.py, server.py");
    free(text);
    strlist_clear(&one.args);
}

/* --- the queue -------------------------------------------------------------- */

static void put(struct event_queue *queue, int first, int last)
{
    for (; first <= last; first++)
        event_queue_put(queue, json_pack("{s:i}", "n", first));
}

static void expect(struct event_queue *queue, int n, int dropped)
{
    json_t *event = event_queue_take(queue);

    assert_non_null(event);
    assert_int_equal(json_integer_value(json_object_get(event, "n")), n);
    assert_int_equal(json_integer_value(json_object_get(event, "dropped")), dropped);
    if (dropped == 0)
        assert_null(json_object_get(event, "dropped"));
    json_decref(event);
}

static void events_keep_their_order(void **state)
{
    struct event_queue queue = { 0 };

    (void)state;
    assert_null(event_queue_take(&queue));
    put(&queue, 1, 2);
    expect(&queue, 1, 0);
    put(&queue, 3, 3);
    expect(&queue, 2, 0);
    expect(&queue, 3, 0);
    assert_null(event_queue_take(&queue));
}

static void the_oldest_are_dropped(void **state)
{
    struct event_queue queue = { 0 };
    int                i;

    (void)state;
    put(&queue, 1, EVENT_QUEUE_MOST + 3);
    expect(&queue, 4, 3);
    for (i = 5; i <= EVENT_QUEUE_MOST + 3; i++)
        expect(&queue, i, 0);
    assert_null(event_queue_take(&queue));
}

static void those_that_did_not_arrive_count(void **state)
{
    struct event_queue queue = { 0 };
    json_t            *event;

    (void)state;
    put(&queue, 1, EVENT_QUEUE_MOST + 2);
    event = event_queue_take(&queue);
    event_queue_missed(&queue, event); /* it, and the two before it */
    json_decref(event);
    expect(&queue, 4, 3);
    event_queue_keep_last(&queue);
    expect(&queue, EVENT_QUEUE_MOST + 2, EVENT_QUEUE_MOST - 3);
    event_queue_keep_last(&queue);
    put(&queue, 1, 3);
    event_queue_clear(&queue);
    put(&queue, 4, 4);
    expect(&queue, 4, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_says_of_which_run),
        cmocka_unit_test(its_own_words_come_last),
        cmocka_unit_test(texts_are_safe_and_short),
        cmocka_unit_test(scripts_have_no_arguments),
        cmocka_unit_test(events_keep_their_order),
        cmocka_unit_test(the_oldest_are_dropped),
        cmocka_unit_test(those_that_did_not_arrive_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
