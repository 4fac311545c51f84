/* test_policy.c - what follows when a generation is over, as a table
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/policy.h"

static struct policy_rules rules_of(int max_restarts, const char *on)
{
    struct policy_rules rules = { .max_restarts = max_restarts, .delay_s = -1,
                                  .may_move_port = true };
    struct error        err;

    assert_int_equal(restart_on_parse(on, &rules.on, &err), 0);
    return rules;
}

/* A rank of a whole world has failed with that code after 100 s. */
static struct policy_event failed(int code)
{
    return (struct policy_event){ .kind = POLICY_EVENT_OVER, .end = POLICY_END_RANK,
                                  .is_world_whole = true, .lived_s = 100, .code = code,
                                  .rank_lived_s = 100, .are_alike = true };
}

static void test_one_end(void **state)
{
    const struct policy_event whole = failed(1);
    const struct {
        int                 max_restarts;
        enum policy_end     end;
        int                 code;
        const char         *what; /* differences from failed() */
        enum policy_do      wanted;
        enum policy_why     why;
    } cases[] = {
        { 3, POLICY_END_WELL, 0, "", POLICY_DO_END, POLICY_WHY_NONE },
        { 3, POLICY_END_RANK, 1, "", POLICY_DO_WAIT, POLICY_WHY_RESTART },
        { 3, POLICY_END_RANK, 137, "", POLICY_DO_WAIT, POLICY_WHY_RESTART },
        { 3, POLICY_END_RANK, 139, "", POLICY_DO_WAIT, POLICY_WHY_RESTART },
        { 0, POLICY_END_RANK, 1, "", POLICY_DO_END, POLICY_WHY_OFF },
        { 3, POLICY_END_RANK, 1, "world", POLICY_DO_END, POLICY_WHY_NODE },
        { 3, POLICY_END_RANK, 137, "memory", POLICY_DO_END, POLICY_WHY_CLASS },
        { 3, POLICY_END_RANK, 2, "", POLICY_DO_END, POLICY_WHY_CLASS },
        { 3, POLICY_END_RANK, 127, "", POLICY_DO_END, POLICY_WHY_CLASS },
        { 3, POLICY_END_RANK, 1, "exec", POLICY_DO_END, POLICY_WHY_NOT_STARTED },
        { 3, POLICY_END_HANG, 0, "", POLICY_DO_WAIT, POLICY_WHY_RESTART },
        { 3, POLICY_END_NODE, 0, "world", POLICY_DO_END, POLICY_WHY_NODE },
        { 3, POLICY_END_NO_START, 0, "world", POLICY_DO_END, POLICY_WHY_NODE },
        { 0, POLICY_END_NO_START, 0, "world", POLICY_DO_END, POLICY_WHY_OFF },
        { 3, POLICY_END_WANTED, 0, "", POLICY_DO_END, POLICY_WHY_WANTED },
        { 0, POLICY_END_WANTED, 0, "", POLICY_DO_END, POLICY_WHY_WANTED },
        { 0, POLICY_END_RANK, 9, "port", POLICY_DO_WAIT, POLICY_WHY_PORT },
        { 0, POLICY_END_RANK, 2, "port", POLICY_DO_WAIT, POLICY_WHY_PORT },
        { 0, POLICY_END_RANK, 9, "port old", POLICY_DO_END, POLICY_WHY_OFF },
        { 3, POLICY_END_RANK, 9, "port old", POLICY_DO_WAIT, POLICY_WHY_RESTART },
        { 0, POLICY_END_RANK, 9, "port well", POLICY_DO_END, POLICY_WHY_OFF },
        { 0, POLICY_END_RANK, 9, "port fixed", POLICY_DO_END, POLICY_WHY_OFF },
        { 0, POLICY_END_RANK, 9, "port world", POLICY_DO_END, POLICY_WHY_OFF },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy        policy = { 0 };
        struct policy_rules  rules = rules_of(cases[i].max_restarts, NULL);
        struct policy_event  event = whole;
        const char          *what = cases[i].what;
        struct policy_action action;

        event.end = cases[i].end;
        event.code = cases[i].code;
        event.is_world_whole = strstr(what, "world") == NULL;
        event.out_of_memory = strstr(what, "memory") != NULL;
        event.not_started = strstr(what, "exec") != NULL;
        event.port_taken = strstr(what, "port") != NULL;
        event.rank_lived_s = event.port_taken && strstr(what, "old") == NULL ? 30 : 100;
        event.any_ended_well = strstr(what, "well") != NULL;
        rules.may_move_port = strstr(what, "fixed") == NULL;
        action = policy_next(&policy, &rules, NULL, &event);
        if (action.what != cases[i].wanted || action.why != cases[i].why)
            fail_msg("case %zu: %d for %d", i, action.what, action.why);
        assert_int_equal(policy.phase, action.what == POLICY_DO_END ? POLICY_OVER
                                                                    : POLICY_WAITING);
    }
}

static struct policy_action next(struct policy *policy, const struct policy_rules *rules,
                                 struct policy_event event)
{
    static const struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 1e6 };
    struct policy_action             action = policy_next(policy, rules, NULL, &event);

    if (action.what == POLICY_DO_WAIT)
        assert_int_equal(policy_next(policy, rules, NULL, &time).what, POLICY_DO_START);
    return action;
}

static void test_count_and_delay(void **state)
{
    static const double delays[] = { 0, 1, 2, 4, 8, 16, 32, 60, 60 };
    struct policy       policy = { 0 };
    struct policy_rules rules = rules_of(9, NULL);
    struct policy_event event = failed(1);
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof delays / sizeof *delays; i++)
        assert_true(next(&policy, &rules, event).delay_s == delays[i]);
    assert_int_equal(policy_next(&policy, &rules, NULL, &event).why, POLICY_WHY_USED_UP);

    policy = (struct policy){ 0 };
    rules.delay_s = 0.5;
    for (i = 0; i < 4; i++)
        assert_true(next(&policy, &rules, event).delay_s == 0.5);
}

static void test_a_long_generation_counts_afresh(void **state)
{
    struct policy       policy = { 0 };
    struct policy_rules rules = rules_of(1, NULL);
    struct policy_event event = failed(137);
    int                 i;

    (void)state;
    event.lived_s = POLICY_LONG_S + 1;
    for (i = 0; i < 20; i++)
        assert_true(next(&policy, &rules, event).delay_s == 0);
    event.lived_s = POLICY_LONG_S;
    assert_int_equal(policy_next(&policy, &rules, NULL, &event).why, POLICY_WHY_USED_UP);
}

static void test_twice_the_same_when_young(void **state)
{
    static const struct {
        int        first, second;
        double     first_s, second_s;
        enum policy_why why;
    } cases[] = {
        { 1, 1, 3, 4, POLICY_WHY_YOUNG },      { 1, 3, 3, 4, POLICY_WHY_RESTART },
        { 1, 1, 3, 11, POLICY_WHY_RESTART },   { 1, 1, 11, 3, POLICY_WHY_RESTART },
        { 137, 137, 1, 1, POLICY_WHY_RESTART }, { 143, 143, 1, 1, POLICY_WHY_RESTART },
        { 201, 201, 1, 1, POLICY_WHY_RESTART }, { 139, 139, 1, 1, POLICY_WHY_YOUNG },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy       policy = { 0 };
        struct policy_rules rules = rules_of(5, NULL);
        struct policy_event event = failed(cases[i].first);

        event.rank_lived_s = cases[i].first_s;
        assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_RESTART);
        event = failed(cases[i].second);
        event.rank_lived_s = cases[i].second_s;
        assert_int_equal(policy_next(&policy, &rules, NULL, &event).why, cases[i].why);
    }
}

/* If one rank fails again and the others do not, that may be chance. muster waits for the
 * others only if their ends decide. */
static void test_others_may_be_well(void **state)
{
    struct policy       policy = { 0 };
    struct policy_rules rules = rules_of(5, NULL), off = rules_of(0, NULL);
    struct policy_event event = failed(1);

    (void)state;
    event.rank_lived_s = 1;
    event.are_alike = false;
    assert_true(policy_others_s(&policy, &rules, &event) == 0); /* the first failure */
    assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_RESTART);
    assert_true(policy_others_s(&policy, &rules, &event) == 0.5);
    assert_true(policy_others_s(&policy, &off, &event) == 0);
    event.rank_lived_s = 8;
    assert_true(policy_others_s(&policy, &rules, &event) == 2);
    event.rank_lived_s = POLICY_YOUNG_S + 1;
    assert_true(policy_others_s(&policy, &rules, &event) == 0);
    event.rank_lived_s = 1;
    event.code = 3;
    assert_true(policy_others_s(&policy, &rules, &event) == 0);
    event.code = 1;
    assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_RESTART);
    event.are_alike = true; /* unknown for the generation before */
    assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_YOUNG);
}

/* A generation that ended for another reason in between says nothing about the program. */
static void test_not_in_two_generations_running(void **state)
{
    struct policy       policy = { 0 };
    struct policy_rules rules = rules_of(5, NULL);
    struct policy_event event = failed(1);

    (void)state;
    event.rank_lived_s = 1;
    assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_RESTART);
    event.port_taken = true;
    assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_PORT);
    event.port_taken = false;
    assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_RESTART);
    assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_YOUNG);
}

static void test_ports_have_a_count_of_their_own(void **state)
{
    struct policy       policy = { 0 };
    struct policy_rules rules = rules_of(1, NULL);
    struct policy_event event = failed(9);
    int                 i;

    (void)state;
    event.port_taken = true;
    event.rank_lived_s = 1;
    for (i = 0; i < POLICY_PORTS_MAX; i++)
        assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_PORT);
    assert_int_equal(policy.restarts, 0);
    assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_RESTART);
    assert_int_equal(next(&policy, &rules, event).why, POLICY_WHY_YOUNG);
}

static void test_while_waiting(void **state)
{
    struct policy       policy = { 0 };
    struct policy_rules rules = rules_of(3, NULL);
    struct policy_event event = failed(1), lost = { .kind = POLICY_EVENT_NODE_LOST };
    struct policy_event time = { .kind = POLICY_EVENT_TIME };

    (void)state;
    assert_int_equal(policy_next(&policy, &rules, NULL, &time).what, POLICY_DO_NOTHING);
    assert_int_equal(policy_next(&policy, &rules, NULL, &lost).what, POLICY_DO_NOTHING);
    assert_int_equal(policy_next(&policy, &rules, NULL, &event).what, POLICY_DO_WAIT);
    assert_int_equal(policy_next(&policy, &rules, NULL, &lost).why, POLICY_WHY_NODE);
    assert_int_equal(policy_next(&policy, &rules, NULL, &time).what, POLICY_DO_NOTHING);

    policy = (struct policy){ 0 };
    assert_int_equal(policy_next(&policy, &rules, NULL, &event).what, POLICY_DO_WAIT);
    assert_int_equal(policy_next(&policy, &rules, NULL, &event).why, POLICY_WHY_WANTED);
    assert_int_equal(policy.phase, POLICY_OVER);
}

static void test_may_restart(void **state)
{
    struct policy_rules rules = rules_of(0, NULL);

    (void)state;
    assert_true(policy_may_restart(&rules));
    rules.may_move_port = false;
    assert_false(policy_may_restart(&rules));
    rules.max_restarts = 1;
    assert_true(policy_may_restart(&rules));
}

static void test_classes(void **state)
{
    static const struct {
        int         code;
        bool        oom;
        const char *class;
    } cases[] = {
        { 1, false, "fatal" },     { 2, false, "usage" },    { 3, false, "other" },
        { 14, false, "hardware" }, { 64, false, "usage" },   { 67, false, "other" },
        { 126, false, "missing" }, { 134, false, "fatal" },  { 137, false, "killed" },
        { 137, true, "memory" },   { 143, false, "killed" }, { 202, false, "hardware" },
        { 203, false, "other" },   { 247, false, "memory" }, { 255, false, "other" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(exit_class_of(cases[i].code, cases[i].oom)->name, cases[i].class);
}

static void test_restart_on(void **state)
{
    static const struct {
        const char *text;
        int         code;
        bool        oom, has;
    } cases[] = {
        { NULL, 1, false, true },         { NULL, 137, false, true },
        { NULL, 137, true, false },       { NULL, 247, false, false },
        { NULL, 99, false, true },        { NULL, 127, false, false },
        { "1", 1, false, true },          { "1", 137, false, false },
        { "killed", 137, false, true },   { "killed", 137, true, false },
        { "137", 137, true, true },       { "memory", 137, true, true },
        { "memory", 137, false, false },  { "usage,200-210", 2, false, true },
        { "usage,200-210", 210, false, true }, { "usage,200-210", 211, false, false },
        { "other", 99, false, true },     { "other", 1, false, false },
        { "1-255", 0, false, false },     { "1-255", 255, false, true },
        { "1-255", 300, false, false },   { "1-255", -1, false, false },
    };
    struct restart_on on;
    struct error      err;
    size_t            i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(restart_on_parse(cases[i].text, &on, &err), 0);
        if (restart_on_has(&on, cases[i].code, cases[i].oom) != cases[i].has)
            fail_msg("case %zu", i);
    }
}

static void test_bad_restart_on(void **state)
{
    static const char *const bad[] = {
        "",    "0",   "256", "1,",   ",1",  "-1",    "5-3",    "1-",   "a",
        "Killed", "1 2", "1-2-3", "0x1", "999999999999999999999", "1;2", "killed,killer",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    struct restart_on on;
    struct error      err;
    size_t            i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (restart_on_parse(bad[i], &on, &err) == 0)
            fail_msg("'%s' was taken", bad[i]);
        assert_non_null(strstr(err.text, "is neither an exit code"));
    }
}

/* --- with members ------------------------------------------------------------- */

/* Sets up members from letters such as "iis-". 'i': has a place; 'x': has just lost its place;
 * 's': spare; '-': away. */
static void set_up(struct membership *members, const char *states,
                   const struct member_rules *rules)
{
    size_t world[8], places = 0, i;

    *members = (struct membership){ 0 };
    for (i = 0; states[i] != '\0'; i++) {
        membership_add(members, "", 2);
        if (states[i] != '-')
            membership_joined(members, i);
        if (strchr("ix", states[i]) != NULL)
            world[places++] = i;
    }
    membership_take(members, rules, world, places);
    for (i = 0; states[i] != '\0'; i++)
        if (states[i] == 'x')
            members->item[i].state = MEMBER_AWAY;
}

static void test_wait_is_over(void **state)
{
    struct policy_rules rules = { .max_wait_s = 20, .members = { .goes_on = true } };
    struct policy       policy = { 0 };
    struct membership   members;
    struct policy_event over = {
        .kind = POLICY_EVENT_OVER, .end = POLICY_END_NODE, .now_s = 100, .ended_s = 3
    };
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 116.9 };

    (void)state;
    set_up(&members, "ii", &rules.members);
    membership_lost(&members, 1, 97, true);
    assert_int_equal(policy_next(&policy, &rules, &members, &over).what, POLICY_DO_PARK);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    time.now_s = 117;
    assert_int_equal(policy_next(&policy, &rules, &members, &time).why, POLICY_WHY_MAX_WAIT);
    membership_clear(&members);
}

/* The node is tried again, and so is the one that has not been seen yet. */
static void no_node_can_start(enum policy_end end)
{
    struct policy_rules rules = { .max_wait_s = 1800, .members = { .goes_on = true } };
    struct policy       policy = { 0 };
    struct membership   members;
    struct policy_event over = { .kind = POLICY_EVENT_OVER, .end = end };
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 1 };

    set_up(&members, "ix-", &rules.members);
    membership_refused(&members, 1);
    assert_int_equal(policy_next(&policy, &rules, &members, &over).what, POLICY_DO_PARK);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    membership_refused(&members, 1);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    membership_refused(&members, 2);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    membership_unlisted(&members, 2, 1, 0);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).why, POLICY_WHY_NO_START);
    membership_clear(&members);
}

static void test_no_node_can_start(void **state)
{
    (void)state;
    no_node_can_start(POLICY_END_NO_START);
    no_node_can_start(POLICY_END_UNFIT);
}

/* Another node has taken its place, and cannot either: it is not the node. A generation that did
 * start counts afresh. One node that is broken says nothing about the next. */
static void test_no_start_twice(void **state)
{
    static const enum policy_end ends[] = { POLICY_END_NO_START, POLICY_END_NODE,
                                            POLICY_END_NO_START, POLICY_END_UNFIT,
                                            POLICY_END_UNFIT,    POLICY_END_NO_START };
    struct policy_rules rules = { .members = { .goes_on = true } };
    struct policy       policy = { 0 };
    struct membership   members;
    struct policy_event over = { .kind = POLICY_EVENT_OVER, .end = POLICY_END_NO_START };
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 1 };
    size_t              i;

    (void)state;
    set_up(&members, "ixs", &rules.members);
    for (i = 0; i < sizeof ends / sizeof *ends; i++) {
        over.end = ends[i];
        assert_int_equal(policy_next(&policy, &rules, &members, &over).what, POLICY_DO_WAIT);
        assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_START);
    }
    assert_int_equal(policy_next(&policy, &rules, &members, &over).why, POLICY_WHY_NO_START);
    membership_clear(&members);
}

static void test_ends(void **state)
{
    static const struct {
        const char     *what;
        enum policy_end end;
        enum policy_why why;
    } cases[] = {
        { "", POLICY_END_NODE, POLICY_WHY_CHANGE },
        { "", POLICY_END_CHANGE, POLICY_WHY_CHANGE },
        { "", POLICY_END_NO_START, POLICY_WHY_CHANGE },
        { "first", POLICY_END_NO_START, POLICY_WHY_OFF },
        { "first spares", POLICY_END_NO_START, POLICY_WHY_OFF },
        { "", POLICY_END_UNFIT, POLICY_WHY_CHANGE },
        { "first", POLICY_END_UNFIT, POLICY_WHY_OFF },
        { "first spares", POLICY_END_UNFIT, POLICY_WHY_CHANGE },
        { "first", POLICY_END_NODE, POLICY_WHY_OFF },
        { "left", POLICY_END_NODE, POLICY_WHY_LEFT },
        { "", POLICY_END_RANK, POLICY_WHY_OFF },
        { "left", POLICY_END_WELL, POLICY_WHY_NONE },
        { "left", POLICY_END_WANTED, POLICY_WHY_WANTED },
    };
    struct policy_rules rules = { .members = { .goes_on = true } };
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy       policy = { 0 };
        struct membership   members;
        struct policy_event over = { .kind = POLICY_EVENT_OVER,
                                     .end = cases[i].end,
                                     .code = 1,
                                     .is_first_start = strstr(cases[i].what, "first") != NULL,
                                     .is_left = strstr(cases[i].what, "left") != NULL };

        rules.members.spares = strstr(cases[i].what, "spares") != NULL;
        set_up(&members, "ixs", &rules.members);
        if (policy_next(&policy, &rules, &members, &over).why != cases[i].why)
            fail_msg("case %zu", i);
        membership_clear(&members);
    }
}

/* muster could not reach the lost node, so its lease must expire first. */
static void test_lost_means_dead(void **state)
{
    struct policy_rules rules = { .members = { .goes_on = true } };
    struct policy       policy = { 0 };
    struct membership   members;
    struct policy_event over = {
        .kind = POLICY_EVENT_OVER, .end = POLICY_END_NODE, .now_s = 50, .dead_in_s = 12
    };
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 61.9 };

    (void)state;
    set_up(&members, "ixs", &rules.members);
    assert_true(policy_next(&policy, &rules, &members, &over).delay_s == 12);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    time.now_s = 62;
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_START);
    membership_clear(&members);
}

static void test_growth_waits(void **state)
{
    struct policy_rules rules = { .grow_s = 600,
                                  .members = { .goes_on = true, .is_elastic = true } };
    struct policy       policy = { .changed_s = 1000 };
    struct membership   members;
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 1599 };

    (void)state;
    set_up(&members, "iis", &rules.members);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    assert_true(policy_due_s(&policy, &rules, &members, 1599) == 1);
    time.now_s = 1600;
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_STOP);
    membership_clear(&members);
}

/* muster scale need not wait for --grow-interval, but for all nodes of the new size. */
static void test_scaling(void **state)
{
    static const struct {
        const char    *states;
        size_t         target;
        bool           is_new;
        enum policy_do at_1, at_600;
    } cases[] = {
        { "iis-", 3, true, POLICY_DO_STOP, POLICY_DO_NOTHING },
        { "iis-", 3, false, POLICY_DO_NOTHING, POLICY_DO_STOP },
        { "iis-", 4, true, POLICY_DO_NOTHING, POLICY_DO_STOP },
        { "ii--", 4, true, POLICY_DO_NOTHING, POLICY_DO_NOTHING },
        { "iii-", 2, true, POLICY_DO_STOP, POLICY_DO_NOTHING },
        { "iii-", 3, true, POLICY_DO_NOTHING, POLICY_DO_NOTHING },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy_rules rules = {
            .grow_s = 600,
            .members = { .goes_on = true, .is_elastic = true, .target = cases[i].target }
        };
        struct policy       policy = { 0 };
        struct membership   members;
        struct policy_event scale = { .kind = POLICY_EVENT_SCALE };
        struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 1 };

        set_up(&members, cases[i].states, &rules.members);
        if (cases[i].is_new)
            policy_next(&policy, &rules, &members, &scale);
        if (policy_next(&policy, &rules, &members, &time).what != cases[i].at_1)
            fail_msg("case %zu", i);
        time.now_s = 600;
        if (policy_next(&policy, &rules, &members, &time).what != cases[i].at_600)
            fail_msg("case %zu, later", i); /* only once */
        membership_clear(&members);
    }
}

static void test_kept(void **state)
{
    struct policy_rules rules = { .grow_s = 600,
                                  .members = { .goes_on = true, .is_elastic = true } };
    struct policy       policy = { 0 };
    struct membership   members;
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 600 };
    struct policy_event kept = { .kind = POLICY_EVENT_KEPT, .now_s = 700 };

    (void)state;
    set_up(&members, "iis", &rules.members);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_STOP);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    assert_true(policy_due_s(&policy, &rules, &members, 600) < 0);
    policy_next(&policy, &rules, &members, &kept);
    assert_true(policy_due_s(&policy, &rules, &members, 700) == 600);
    time.now_s = 1300;
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_STOP);
    membership_clear(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_end),
        cmocka_unit_test(test_count_and_delay),
        cmocka_unit_test(test_a_long_generation_counts_afresh),
        cmocka_unit_test(test_twice_the_same_when_young),
        cmocka_unit_test(test_others_may_be_well),
        cmocka_unit_test(test_not_in_two_generations_running),
        cmocka_unit_test(test_ports_have_a_count_of_their_own),
        cmocka_unit_test(test_while_waiting),
        cmocka_unit_test(test_may_restart),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_restart_on),
        cmocka_unit_test(test_bad_restart_on),
        cmocka_unit_test(test_wait_is_over),
        cmocka_unit_test(test_no_node_can_start),
        cmocka_unit_test(test_no_start_twice),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_lost_means_dead),
        cmocka_unit_test(test_growth_waits),
        cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
