/* test_evidence.c - what nodes say of their kernels: what is kept, and what the report shows
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "outcome/outcome.h"
#include "xalloc.h"

#define NODES 3
#define RANKS (2 * NODES)

/* A run on te1..te3 with two ranks each, whose pids are 1000 and more. */
struct fixture {
    struct plan      plan;
    struct plan_node node[NODES];
    struct plan_rank rank[RANKS];
    struct outcome   outcome;
};

static int setup(void **state)
{
    static char     hosts[NODES][4] = { "te1", "te2", "te3" };
    struct fixture *f = xcalloc(1, sizeof *f);
    int             rank;

    f->plan = (struct plan){
        .node = f->node, .nodes = NODES, .node_count = NODES, .world_size = RANKS
    };
    f->plan.run_id = f->plan.stamp = hosts[0];
    for (rank = 0; rank < RANKS; rank++) {
        f->rank[rank].rank = rank;
        f->node[rank / 2] = (struct plan_node){ .host = hosts[rank / 2],
                                                .rank = &f->rank[rank / 2 * 2],
                                                .ranks = 2 };
    }
    outcome_init(&f->outcome, &f->plan);
    outcome_begun(&f->outcome);
    for (rank = 0; rank < RANKS; rank++)
        outcome_rank_started(&f->outcome, rank, 1000 + rank, f->outcome.start_ns);
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

/* A rank fails after that time. */
static void fails(struct fixture *f, int rank, double after_s, struct rank_end how)
{
    how.started = how.ended = true;
    how.pid = 1000 + rank;
    how.start_ns = f->outcome.start_ns;
    how.end_ns = how.start_ns + (int64_t)(after_s * NS_PER_S);
    outcome_rank_ended(&f->outcome, rank, &how);
}

#define EXIT_CODE(number)                                                                      \
    (struct rank_end)                                                                          \
    {                                                                                          \
        .code = (number)                                                                       \
    }
#define KILLED(number)                                                                         \
    (struct rank_end)                                                                          \
    {                                                                                          \
        .signal = (number)                                                                     \
    }

static void say(struct fixture *f, size_t node, const char *format, ...)
{
    va_list ap;
    char   *text;
    json_t *body;

    va_start(ap, format);
    assert_true(vasprintf(&text, format, ap) > 0);
    va_end(ap);
    body = json_loads(text, 0, NULL);
    if (body == NULL)
        fail_msg("%s", text);
    outcome_evidence(&f->outcome, node, body);
    json_decref(body);
    free(text);
}

#define ITEM                                                                                   \
    "{\"items\":[{\"time\":\"2001-02-03T04:05:06+0100\",\"kind\":\"%s\",\"device\":\"%s\","    \
    "\"severity\":\"%s\",\"what\":\"W %s\",\"action\":\"A\",\"text\":\"T\",\"count\":%d}]}"

static void expect_lines(struct fixture *f, const char *text)
{
    struct strlist lines = { 0 };
    char          *all = xstrdup("");
    size_t         i;

    evidence_lines(&f->outcome, &lines);
    for (i = 0; i < lines.count; i++) {
        char *more = xasprintf("%s%s\n", all, lines.item[i]);

        free(all);
        all = more;
    }
    assert_string_equal(all, text);
    free(all);
    strlist_clear(&lines);
}

static void the_node_of_the_failure_is_first(void **state)
{
    struct fixture *f = *state;

    say(f, 0, ITEM, "a", "", "broken", "a", 1);
    say(f, 1, ITEM, "b", "d", "program", "b", 1);
    say(f, 1, ITEM, "c", "d", "error", "c", 7);
    say(f, 1, ITEM, "n", "", "notice", "n", 1);
    say(f, 2, ITEM, "c", "d", "error", "c", 1);
    say(f, 1, ITEM, "c", "d", "error", "c", 9);
    fails(f, 2, 1, EXIT_CODE(1));
    expect_lines(f, "te[2-3]: kernel, 2001-02-03T04:05:06: W c (d): A\n"
                    "te2: kernel, 2001-02-03T04:05:06: W b (d): A\n"
                    "te1: kernel, 2001-02-03T04:05:06: W a: A\n");
    evidence_forget(&f->outcome.evidence, 2, 1);
    expect_lines(f, "te2: kernel, 2001-02-03T04:05:06, 9 times: W c (d): A\n"
                    "te2: kernel, 2001-02-03T04:05:06: W b (d): A\n"
                    "te1: kernel, 2001-02-03T04:05:06: W a: A\n");
    outcome_again(&f->outcome);
    expect_lines(f, "");
}

static void today_needs_no_date(void **state)
{
    struct fixture *f = *state;
    time_t          now = time(NULL);
    struct tm       local;
    char            today[32];
    struct strlist  lines = { 0 };

    localtime_r(&now, &local);
    strftime(today, sizeof today, "%Y-%m-%dT12:13:14+0100", &local);
    say(f, 0,
        "{\"items\":[{\"time\":\"%s\",\"kind\":\"k\",\"device\":\"\",\"severity\":\"error\","
        "\"what\":\"W\",\"count\":1}]}",
        today);
    evidence_lines(&f->outcome, &lines);
    assert_int_equal(lines.count, 1);
    assert_string_equal(lines.item[0] + strlen("te1: kernel, "), "12:13:14: W");
    strlist_clear(&lines);
}

static void the_oom_killer_is_told_once(void **state)
{
    struct fixture   *f = *state;
    struct rank_end   killed = { .signal = SIGKILL, .oom = (char[]){ "oom_kill 0-1" } };
    static const char of[] = "{\"items\":[{\"kind\":\"oom\",\"device\":\"x, pid %d\","
                             "\"severity\":\"error\",\"what\":\"W\",\"pid\":%d,\"count\":1}]}";

    say(f, 0, of, 1003, 1003); /* the same machine */
    say(f, 0, of, 7, 7);
    say(f, 1, of, 1003, 1003);
    say(f, 1, of, 4711, 4711); /* as seen from outside a container */
    fails(f, 3, 1, killed);
    expect_lines(f, "te1: kernel, : W (x, pid 7)\n");
}

static void bad_bodies(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "{\"items\":7}",
        "{\"items\":[7, \"x\", null, [], {}]}",
        "{\"items\":{\"a\":{\"kind\":\"k\",\"severity\":\"error\",\"count\":1}}}",
        "{\"items\":[{\"kind\":\"k\",\"severity\":\"worse\",\"count\":1}]}",
        "{\"items\":[{\"kind\":\"k\",\"severity\":7,\"count\":1}]}",
        "{\"items\":[{\"kind\":7,\"severity\":\"error\",\"count\":1}]}",
        "{\"items\":[{\"kind\":\"\",\"severity\":\"error\",\"count\":1}]}",
        "{\"items\":[{\"kind\":\"k\",\"severity\":\"error\",\"count\":0}]}",
        "{\"items\":[{\"kind\":\"k\",\"severity\":\"error\",\"count\":-1}]}",
        "{\"items\":[{\"kind\":\"k\",\"severity\":\"error\",\"count\":\"1\"}]}",
        "{\"items\":[{\"kind\":\"k\",\"severity\":\"error\"}]}",
        "{\"unread\":\"\"}",
        "{\"unread\":7}",
        "{\"more\":-1}",
    };
    struct fixture *f = *state;
    char           *huge = xcalloc(1, 5001);
    json_t         *json;
    size_t          i;

    for (i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        say(f, 0, "%s", bodies[i]);
        if (f->outcome.evidence.count + f->outcome.evidence.unreads != 0)
            fail_msg("%s", bodies[i]);
    }
    memset(huge, 'x', 4999);
    memcpy(huge + 498, "\xc3\xa9\xc3\xa9", 4); /* cut within a character */
    say(f, 0, ITEM, huge, huge, "error", "\\u001b[31m", 1);
    say(f, 0, ITEM, huge, huge, "error", "\\u001b[31m", 2);
    assert_int_equal(f->outcome.evidence.count, 1);
    assert_int_equal(f->outcome.evidence.item[0].count, 2);
    assert_true(strlen(f->outcome.evidence.item[0].device) <= 500);
    json = outcome_json(&f->outcome, false);
    assert_int_equal(json_array_size(json_object_get(json, "evidence")), 1);
    json_decref(json);
    free(huge);
}

static void is_bounded(void **state)
{
    struct fixture *f = *state;
    struct strlist  lines = { 0 };
    char            device[16];
    int             i;
    size_t          node;

    for (node = 0; node < NODES; node++)
        for (i = 0; i < EVIDENCE_NODE_MAX + 9; i++) {
            snprintf(device, sizeof device, "%zu-%d", node, i);
            say(f, node, ITEM, "k", device, "error", "k", 1);
        }
    assert_int_equal(f->outcome.evidence.count, NODES * EVIDENCE_NODE_MAX);
    assert_int_equal(f->outcome.evidence.more, NODES * 9);
    evidence_lines(&f->outcome, &lines);
    assert_int_equal(lines.count, EVIDENCE_LINES_MAX + 1);
    assert_non_null(strstr(lines.item[EVIDENCE_LINES_MAX], "176 more things"));
    strlist_clear(&lines);
}

/* The user must know that no one has looked, if the kernel might know why. */
static void logs_that_cannot_be_read(void **state)
{
    struct fixture *f = *state;

    say(f, 1, "{\"unread\":\"/dev/kmsg: No\"}");
    say(f, 1, "{\"unread\":\"/dev/kmsg: No\"}");
    say(f, 2, "{\"unread\":\"/dev/kmsg: \\u001b No\"}");
    fails(f, 2, 1, EXIT_CODE(1));
    expect_lines(f, "");
    fails(f, 2, 1, KILLED(SIGBUS));
    expect_lines(f, "the kernel's log of te2 could not be read: /dev/kmsg: No\n");
    outcome_sent(&f->outcome, SIGBUS);
    expect_lines(f, "");
    fails(f, 2, 100, EXIT_CODE(1));
    expect_lines(f, "the kernel's log of te2 could not be read: /dev/kmsg: No\n");
    fails(f, 0, 0.5, KILLED(SIGKILL));
    expect_lines(f, "");
}

static void a_hang_concerns_all_nodes(void **state)
{
    struct fixture *f = *state;

    say(f, 1, "{\"unread\":\"/dev/kmsg: No\"}");
    say(f, 2, "{\"unread\":\"/dev/kmsg: No\"}");
    outcome_cause(&f->outcome, EXIT_INTERRUPTED, "interrupted");
    expect_lines(f, "");
    outcome_again(&f->outcome);
    outcome_begun(&f->outcome);
    say(f, 1, "{\"unread\":\"/dev/kmsg: No\"}");
    say(f, 2, "{\"unread\":\"/dev/kmsg: No\"}");
    outcome_cause(&f->outcome, EXIT_TIMEOUT, "the ranks hang");
    expect_lines(f, "the kernel's log of te[2-3] could not be read: /dev/kmsg: No\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_node_of_the_failure_is_first, setup, teardown),
        cmocka_unit_test_setup_teardown(today_needs_no_date, setup, teardown),
        cmocka_unit_test_setup_teardown(the_oom_killer_is_told_once, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_bodies, setup, teardown),
        cmocka_unit_test_setup_teardown(is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(logs_that_cannot_be_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hang_concerns_all_nodes, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
