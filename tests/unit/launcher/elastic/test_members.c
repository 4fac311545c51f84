/* test_members.c - which nodes have a place in the next world: a table, and random runs
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

#include "elastic/members.h"
#include "elastic/policy.h"

#define HOSTS_MAX 12

/* Sets up members from letters such as "iiiss". 'i': has a place; 's': spare; '-': away; 'j':
 * joining; 'l': has a place and will leave; 'x': has just lost its place; 'r': lost it and is
 * back; 'g': a spare that is no longer offered; 'q': a silent spare. */
static void set_up(struct members *members, const char *states, const int *slots,
                   const struct member_rules *rules)
{
    size_t world[HOSTS_MAX], places = 0, i;

    *members = (struct members){ 0 };
    for (i = 0; states[i] != '\0'; i++) {
        assert_int_equal(members_add(members, slots != NULL ? slots[i] : 2), i);
        members->item[i].state = MEMBER_SPARE;
        if (strchr("ilxr", states[i]) != NULL)
            world[places++] = i;
    }
    members_take(members, rules, world, places);
    for (i = 0; states[i] != '\0'; i++) {
        if (strchr("-x", states[i]) != NULL)
            members->item[i].state = MEMBER_AWAY;
        if (states[i] == 'j')
            members->item[i].state = MEMBER_JOINING;
        if (states[i] == 'r')
            members->item[i].state = MEMBER_SPARE;
        members->item[i].is_leaving = states[i] == 'l';
        members->item[i].is_offered = states[i] != 'g';
        members->item[i].is_silent = states[i] == 'q';
    }
}

/* Writes the chosen world, "0,3,2", or "" if there is none. */
static void choose(const struct members *members, const struct member_rules *rules, char *text)
{
    size_t world[2 * HOSTS_MAX], places = members_choose(members, rules, world), i;

    text[0] = '\0';
    for (i = 0; i < places; i++)
        sprintf(text + strlen(text), "%s%zu", i > 0 ? "," : "", world[i]);
}

static void test_worlds(void **state)
{
    static const int six[] = { 2, 2, 1, 4, 2, 2 };
    static const struct {
        const char *states;
        const int  *slots;
        const char *rules; /* "e MIN MAX", then sizes; "": the world is fixed */
        const char *wanted;
    } cases[] = {
        { "ii", NULL, "", "0,1" }, { "ixs", NULL, "", "0,2" },
        { "xis", NULL, "", "2,1" },
        { "xxs", NULL, "", "" },
        { "xxss", NULL, "", "2,3" },
        { "xi-", NULL, "", "" },
        { "xij", NULL, "", "" },
        { "ri", NULL, "", "0,1" },
        { "rxs", NULL, "", "0,2" },
        { "xrs", NULL, "", "2,1" },
        { "ils", NULL, "", "0,2" },
        { "il", NULL, "", "" },
        { "ixg", NULL, "", "" },
        { "ixq", NULL, "", "" }, { "ixqs", NULL, "", "0,3" },
        { "iixsss", six, "", "0,1,3" },
        { "xiisss", six, "", "3,1,2" },
        { "iiixs", six, "", "" }, /* none of the spares has four slots */
        { "iii", NULL, "e 1 0", "0,1,2" },
        { "ixi", NULL, "e 1 0", "0,2" },
        { "xxi", NULL, "e 1 0", "2" },
        { "xxi", NULL, "e 2 0", "" },
        { "xxx", NULL, "e 1 0", "" },
        { "ixis", NULL, "e 1 0", "0,3,2" },
        { "iis", NULL, "e 1 0", "0,1,2" },
        { "iis", NULL, "e 1 2", "0,1" },
        { "iils", NULL, "e 1 0", "0,1,3" },
        { "iixr", NULL, "e 1 0", "0,1,3" },
        { "iiii", NULL, "e 1 0 6,4", "0,1,2" },
        { "ixxi", NULL, "e 1 0 6,4", "0,3" },
        { "iiisss", six, "e 1 0 5", "0,1,2" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct member_rules rules = { .goes_on = true };
        struct members      members;
        char                sizes[40] = "", got[100];

        if (cases[i].rules[0] == 'e') {
            rules.is_elastic = true;
            assert_true(sscanf(cases[i].rules, "e %zu %zu %39s", &rules.min_nodes,
                               &rules.max_nodes, sizes) >= 2);
            if (sizes[0] != '\0')
                assert_int_equal(members_parse_worlds(sizes, &rules), 0);
        }
        set_up(&members, cases[i].states, cases[i].slots, &rules);
        choose(&members, &rules, got);
        if (strcmp(got, cases[i].wanted) != 0)
            fail_msg("case %zu, %s: %s, not %s", i, cases[i].states, got, cases[i].wanted);
        members_clear(&members);
    }
}

static void test_cool_down(void **state)
{
    static const double seconds[] = { 30, 60, 120, 240, 480, 960, 1800, 1800, 1800 };
    struct member_rules rules = { .goes_on = true };
    struct members      members;
    double              now_s = 1000;
    size_t              i;

    (void)state;
    set_up(&members, "ii", NULL, &rules);
    for (i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        members_failed(&members, 1, now_s, true);
        assert_int_equal(members_dial(&members, &rules, now_s + seconds[i] - 1), MEMBERS_NONE);
        assert_true(members_due_s(&members, &rules, now_s) == seconds[i]);
        now_s += seconds[i];
        assert_int_equal(members_dial(&members, &rules, now_s), 1);
        assert_int_equal(members_dial(&members, &rules, now_s), MEMBERS_NONE);
    }
    assert_int_equal(members.item[1].taken_down, i);
    members.item[1].state = MEMBER_IN;
    members_proved(&members);
    members_failed(&members, 1, now_s, true);
    assert_true(members_due_s(&members, &rules, now_s) == MEMBERS_COOL_S);
    members_clear(&members);
}

/* Ranks are counted over the places, whichever members have them. */
static void test_blame(void **state)
{
    struct member_rules rules = { .goes_on = true };
    struct members      members;

    (void)state;
    set_up(&members, "iii", NULL, &rules);
    members_blame(&members, -1);
    members_blame(&members, 0);
    members_blame(&members, members.ranks[0]);
    members_blame(&members, members.ranks[0] + members.ranks[1] - 1);
    members_blame(&members, members.ranks[0] + members.ranks[1] + members.ranks[2]);
    assert_int_equal(members.item[members.place[0]].failed_first, 1);
    assert_int_equal(members.item[members.place[1]].failed_first, 2);
    assert_int_equal(members.item[members.place[2]].failed_first, 0);
    members_clear(&members);
}

/* A cloud's notice expires. */
static void test_one_that_leaves_may_be_back(void **state)
{
    struct member_rules rules = { .goes_on = true };
    struct members      members;

    (void)state;
    set_up(&members, "il", NULL, &rules);
    members.item[1].back_s = 500;
    assert_int_equal(members_dial(&members, &rules, 1000), MEMBERS_NONE); /* it is still here */
    members_failed(&members, 1, 100, false);
    assert_true(members_due_s(&members, &rules, 100) == 400);
    assert_int_equal(members_dial(&members, &rules, 499), MEMBERS_NONE);
    assert_int_equal(members_dial(&members, &rules, 500), 1);
    assert_false(members.item[1].is_leaving);
    members_failed(&members, 1, 500, false);
    assert_true(members_due_s(&members, &rules, 500) == 2 * MEMBERS_COOL_S);
    members.item[1].is_leaving = true;
    assert_true(members_due_s(&members, &rules, 500) < 0);
    members_clear(&members);
}

static void test_who_is_dialled(void **state)
{
    static const struct {
        const char *states;
        bool        is_elastic;
        size_t      max, spares, wanted;
    } cases[] = {
        { "ii-", false, 0, 0, 0 }, { "ii--", false, 0, 1, 1 }, { "iis-", false, 0, 1, 0 },
        { "iij-", false, 0, 1, 0 }, { "ix-", false, 0, 0, 1 }, { "ix--", false, 0, 1, 2 },
        { "ii--", true, 0, 0, 2 }, { "ii--", true, 3, 0, 1 }, { "ii--", true, 3, 1, 2 },
        { "il--", false, 0, 0, 1 },
    };
    size_t i, dialled;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct member_rules rules = { .goes_on = true, .is_elastic = cases[i].is_elastic,
                                      .max_nodes = cases[i].max, .spares = cases[i].spares };
        struct members      members;

        set_up(&members, cases[i].states, NULL, &rules);
        for (dialled = 0; members_dial(&members, &rules, 0) != MEMBERS_NONE;)
            dialled++;
        if (dialled != cases[i].wanted)
            fail_msg("case %zu: %zu are dialled", i, dialled);
        members_clear(&members);
    }
}

static void test_sizes(void **state)
{
    static const char *const bad[] = { "", "0", "a", "4,", ",4", "4,,5", "-1", "4 5", "1048577" };
    struct member_rules      rules;
    size_t                   i;

    (void)state;
    assert_int_equal(members_parse_worlds("16,12,8", &rules), 0);
    assert_int_equal(rules.worlds_count, 3);
    assert_int_equal(rules.worlds[2], 8);
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(members_parse_worlds(bad[i], &rules), -1);
}

static void test_other_sizes(void **state)
{
    static const int six[] = { 2, 2, 1, 4, 2, 2 };
    static const struct {
        const char *states;
        const int  *slots;
        const char *rules; /* as above */
        size_t      nodes;
        const char *said; /* NULL: allowed; else the error contains this */
    } cases[] = {
        { "ii--", NULL, "e 1 0", 4, NULL },
        { "ii--", NULL, "e 1 0", 1, NULL },
        { "ii--", NULL, "e 1 0", 5, "there are only 4 hosts" },
        { "ii--", NULL, "e 2 3", 1, "--nnodes does not allow that; allowed: 2, 3" },
        { "ii--", NULL, "e 2 3", 4, "more than --nnodes allows; allowed: 2, 3" },
        { "ii--", NULL, "e 1 0 4,8", 3, "3 nodes with 6 ranks: --worlds does not allow that; "
                                        "allowed: 2, 4" },
        { "ii--", NULL, "e 1 0 4,8", 4, NULL },
        { "iig-", NULL, "e 1 0", 4, "there are only 3 hosts" },
        { "iil-", NULL, "e 1 0", 4, "there are only 3 hosts" },
        { "xi--", NULL, "e 1 0", 4, NULL },
        { "--iiss", six, "e 1 0 5", 2, NULL },
        { "--iiss", six, "e 1 0 7", 2, "2 nodes with 5 ranks" },
        { "--iiss", six, "e 1 0 9", 2, "allowed: 4" }, /* places, then the first hosts */
        { "--iiss", six, "e 1 0 99", 2, "allowed: none" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct member_rules rules = { .goes_on = true, .is_elastic = true };
        struct members      members;
        struct error        err = { "" };
        char                sizes[40] = "";
        int                 rc;

        assert_true(sscanf(cases[i].rules, "e %zu %zu %39s", &rules.min_nodes, &rules.max_nodes,
                           sizes) >= 2);
        if (sizes[0] != '\0')
            assert_int_equal(members_parse_worlds(sizes, &rules), 0);
        set_up(&members, cases[i].states, cases[i].slots, &rules);
        rc = members_may_be(&members, &rules, cases[i].nodes, &err);
        if (rc != (cases[i].said == NULL ? 0 : -1) ||
            (cases[i].said != NULL && strstr(err.text, cases[i].said) == NULL))
            fail_msg("case %zu: %d, %s", i, rc, err.text);
        members_clear(&members);
    }
}

/* The world shrinks at once, the last places leave, and muster connects only hosts it needs. */
static void test_target(void **state)
{
    static const struct {
        const char *states;
        size_t      target, spares;
        const char *world;
        int         dialled, surplus;
    } cases[] = {
        { "iiii", 2, 0, "0,1", 0, 0 },   { "iiss", 2, 0, "0,1", 0, 2 },
        { "iiss", 2, 1, "0,1", 0, 1 },   { "iis-", 4, 0, "0,1,2", 1, 0 },
        { "ii--", 3, 0, "0,1", 1, 0 },   { "ii--", 3, 1, "0,1", 2, 0 },
        { "ixs-", 2, 0, "0,2", 0, 0 },   { "ii--", 2, 0, "0,1", 0, 0 },
        { "i--ss", 1, 0, "0", 0, 2 },
    };
    size_t i, which;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct member_rules rules = { .goes_on = true, .is_elastic = true,
                                      .target = cases[i].target, .spares = cases[i].spares };
        struct members      members;
        char                got[100];
        int                 dialled = 0, surplus = 0;

        set_up(&members, cases[i].states, NULL, &rules);
        choose(&members, &rules, got);
        while (members_dial(&members, &rules, 0) != MEMBERS_NONE)
            dialled++;
        while ((which = members_surplus(&members, &rules)) != MEMBERS_NONE) {
            assert_int_equal(which, members.count - 1 - (size_t)surplus++);
            assert_int_equal(members.item[which].state, MEMBER_GOING);
        }
        if (strcmp(got, cases[i].world) != 0 || dialled != cases[i].dialled ||
            surplus != cases[i].surplus)
            fail_msg("case %zu: %s, %d dialled, %d too many", i, got, dialled, surplus);
        members_clear(&members);
    }
}

/* --- random runs ------------------------------------------------------------ */

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

/* Checks what must hold whenever a generation begins. */
static void begin(struct members *members, const struct member_rules *rules)
{
    size_t world[2 * HOSTS_MAX], old[HOSTS_MAX], olds = members->places, i, j;
    size_t places = members_choose(members, rules, world);

    assert_true(places > 0);
    memcpy(old, members->place, olds * sizeof *old);
    for (i = 0; i < places; i++) {
        assert_true(members->item[world[i]].is_offered && !members->item[world[i]].is_leaving);
        assert_true(members->item[world[i]].state == MEMBER_IN ||
                    members->item[world[i]].state == MEMBER_SPARE);
        for (j = 0; j < i; j++)
            assert_int_not_equal(world[i], world[j]);
        for (j = 0; !rules->is_elastic && j < olds; j++)
            if (old[j] == world[i])
                assert_int_equal(i, j); /* a node that stays keeps its rank */
    }
    assert_true(rules->is_elastic ? places >= rules->min_nodes : places == olds);
    members_take(members, rules, world, places);
    assert_true(members_next_is_same(members, rules));
}

/* Lets one event happen to a random member. */
static void happen(struct members *members, double now_s)
{
    size_t         which = draw((uint32_t)members->count);
    struct member *member = &members->item[which];

    switch (draw(5)) {
    case 0:
        if (member->state != MEMBER_AWAY)
            members_failed(members, which, now_s, member->state == MEMBER_IN);
        break;
    case 1:
        if (member->state == MEMBER_JOINING)
            member->state = MEMBER_SPARE;
        break;
    case 2:
        member->is_offered = !member->is_offered;
        break;
    case 3:
        member->is_leaving = draw(3) == 0;
        break;
    default:
        break;
    }
}

static void live(bool is_elastic)
{
    struct policy_rules rules = { .max_restarts = 3, .delay_s = -1, .max_wait_s = 5000,
                                  .grow_s = 600 };
    struct policy       policy = { 0 };
    struct members      members;
    struct policy_event over = { .kind = POLICY_EVENT_OVER, .end = POLICY_END_NODE, .lived_s = 50 };
    struct policy_event time = { .kind = POLICY_EVENT_TIME };
    struct policy_action action;
    double               now_s = 0, ended_s = 0;
    int                  step;

    rules.members = (struct member_rules){ .goes_on = true, .is_elastic = is_elastic,
                                           .min_nodes = 2, .max_nodes = 5, .spares = draw(3) };
    set_up(&members, "iiii----", NULL, &rules.members);
    for (step = 0; step < 400 && policy.phase != POLICY_OVER; step++) {
        now_s += draw(40);
        happen(&members, now_s);
        while (members_dial(&members, &rules.members, now_s) != MEMBERS_NONE)
            ;
        if (policy.phase == POLICY_RUNNING && draw(4) == 0) {
            over.now_s = ended_s = now_s;
            action = policy_next(&policy, &rules, &members, &over);
            assert_int_equal(action.why, POLICY_WHY_CHANGE);
        } else {
            time.now_s = now_s;
            action = policy_next(&policy, &rules, &members, &time);
        }
        if (action.what == POLICY_DO_START)
            begin(&members, &rules.members);
        if (action.what == POLICY_DO_STOP) {
            assert_true(is_elastic);
            over.now_s = ended_s = now_s;
            policy_next(&policy, &rules, &members, &over);
        }
        assert_int_equal(policy.restarts, 0); /* losses of nodes do not count */
        if (action.what == POLICY_DO_END) {
            assert_int_equal(action.why, POLICY_WHY_MAX_WAIT);
            assert_true(now_s >= ended_s + rules.max_wait_s);
        }
        if (policy.phase == POLICY_PARKED)
            assert_true(policy_due_s(&policy, &rules, &members, now_s) <= rules.max_wait_s);
    }
    members_clear(&members);
}

static void test_random_lives(void **state)
{
    uint32_t number;

    (void)state;
    for (number = 0; number < 2000; number++) {
        seed = number;
        live(number % 2 == 0);
    }
}

/* --- the policy with members ------------------------------------------------ */

static void test_wait_is_over(void **state)
{
    struct policy_rules rules = { .max_wait_s = 20, .members = { .goes_on = true } };
    struct policy       policy = { 0 };
    struct members      members;
    struct policy_event over = { .kind = POLICY_EVENT_OVER, .end = POLICY_END_NODE, .now_s = 100,
                                 .ended_s = 3 };
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 116.9 };

    (void)state;
    set_up(&members, "ix", NULL, &rules.members);
    members_failed(&members, 1, 97, true);
    assert_int_equal(policy_next(&policy, &rules, &members, &over).what, POLICY_DO_PARK);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    time.now_s = 117;
    assert_int_equal(policy_next(&policy, &rules, &members, &time).why, POLICY_WHY_MAX_WAIT);
    members_clear(&members);
}

static void test_ends(void **state)
{
    static const struct {
        const char     *what;
        enum policy_end end;
        enum policy_why why;
    } cases[] = {
        { "", POLICY_END_NODE, POLICY_WHY_CHANGE }, { "", POLICY_END_CHANGE, POLICY_WHY_CHANGE },
        { "first", POLICY_END_NODE, POLICY_WHY_OFF }, { "left", POLICY_END_NODE, POLICY_WHY_LEFT },
        { "", POLICY_END_RANK, POLICY_WHY_OFF }, { "left", POLICY_END_WELL, POLICY_WHY_NONE },
        { "left", POLICY_END_WANTED, POLICY_WHY_WANTED },
    };
    struct policy_rules rules = { .members = { .goes_on = true } };
    size_t              i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct policy       policy = { 0 };
        struct members      members;
        struct policy_event over = { .kind = POLICY_EVENT_OVER, .end = cases[i].end, .code = 1,
                                     .is_first_start = strstr(cases[i].what, "first") != NULL,
                                     .is_left = strstr(cases[i].what, "left") != NULL };

        set_up(&members, "ixs", NULL, &rules.members);
        if (policy_next(&policy, &rules, &members, &over).why != cases[i].why)
            fail_msg("case %zu", i);
        members_clear(&members);
    }
}

/* muster could not reach the lost node, so its lease must expire first. */
static void test_lost_means_dead(void **state)
{
    struct policy_rules rules = { .members = { .goes_on = true } };
    struct policy       policy = { 0 };
    struct members      members;
    struct policy_event over = { .kind = POLICY_EVENT_OVER, .end = POLICY_END_NODE, .now_s = 50,
                                 .dead_in_s = 12 };
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 61.9 };

    (void)state;
    set_up(&members, "ixs", NULL, &rules.members);
    assert_true(policy_next(&policy, &rules, &members, &over).delay_s == 12);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    time.now_s = 62;
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_START);
    members_clear(&members);
}

static void test_growth_waits(void **state)
{
    struct policy_rules rules = { .grow_s = 600,
                                  .members = { .goes_on = true, .is_elastic = true } };
    struct policy       policy = { .changed_s = 1000 };
    struct members      members;
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 1599 };

    (void)state;
    set_up(&members, "iis", NULL, &rules.members);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    assert_true(policy_due_s(&policy, &rules, &members, 1599) == 1);
    time.now_s = 1600;
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_STOP);
    members_clear(&members);
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
        struct policy_rules rules = { .grow_s = 600,
                                      .members = { .goes_on = true, .is_elastic = true,
                                                   .target = cases[i].target } };
        struct policy       policy = { 0 };
        struct members      members;
        struct policy_event scale = { .kind = POLICY_EVENT_SCALE };
        struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 1 };

        set_up(&members, cases[i].states, NULL, &rules.members);
        if (cases[i].is_new)
            policy_next(&policy, &rules, &members, &scale);
        if (policy_next(&policy, &rules, &members, &time).what != cases[i].at_1)
            fail_msg("case %zu", i);
        time.now_s = 600;
        if (policy_next(&policy, &rules, &members, &time).what != cases[i].at_600)
            fail_msg("case %zu, later", i); /* only once */
        members_clear(&members);
    }
}

static void test_kept(void **state)
{
    struct policy_rules rules = { .grow_s = 600,
                                  .members = { .goes_on = true, .is_elastic = true } };
    struct policy       policy = { 0 };
    struct members      members;
    struct policy_event time = { .kind = POLICY_EVENT_TIME, .now_s = 600 };
    struct policy_event kept = { .kind = POLICY_EVENT_KEPT, .now_s = 700 };

    (void)state;
    set_up(&members, "iis", NULL, &rules.members);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_STOP);
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_NOTHING);
    assert_true(policy_due_s(&policy, &rules, &members, 600) < 0);
    policy_next(&policy, &rules, &members, &kept);
    assert_true(policy_due_s(&policy, &rules, &members, 700) == 600);
    time.now_s = 1300;
    assert_int_equal(policy_next(&policy, &rules, &members, &time).what, POLICY_DO_STOP);
    members_clear(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worlds),       cmocka_unit_test(test_cool_down),
        cmocka_unit_test(test_blame),
        cmocka_unit_test(test_who_is_dialled), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_random_lives), cmocka_unit_test(test_wait_is_over),
        cmocka_unit_test(test_ends),         cmocka_unit_test(test_lost_means_dead),
        cmocka_unit_test(test_growth_waits), cmocka_unit_test(test_other_sizes),
        cmocka_unit_test(test_target),       cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_kept),         cmocka_unit_test(test_one_that_leaves_may_be_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
