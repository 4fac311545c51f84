/* test_next_world.c - which hosts have a place in the next world: tables, and random
 * runs
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

#include "elastic/next_world.h"
#include "elastic/policy.h"

#define HOSTS_MAX 12
#define TEXT_SIZE 100

/* Sets up members from letters such as "iiiss". 'i': has a place; 's': spare; '-': away; 'j':
 * joining; 'l': has a place and must leave now; 'p': has a place and leaves later; 'u': has a
 * place and is no longer listed; 'x': has just lost its place; 'r': lost it and is back; 'g': a
 * spare that is no longer listed; 'd': a spare that must leave; 'q': a silent spare. */
static void set_up(struct membership *members, const char *states, const int *slots,
                   const struct member_rules *rules)
{
    size_t world[HOSTS_MAX], places = 0, i;

    *members = (struct membership){ 0 };
    for (i = 0; states[i] != '\0'; i++) {
        assert_int_equal(membership_add(members, "", slots != NULL ? slots[i] : 2), i);
        if (strchr("-j", states[i]) == NULL)
            membership_joined(members, i);
        if (strchr("ilpuxr", states[i]) != NULL)
            world[places++] = i;
    }
    membership_take(members, rules, world, places);
    for (i = 0; states[i] != '\0'; i++) {
        struct member *member = &members->item[i];

        if (states[i] == 'x')
            member->state = MEMBER_AWAY;
        if (states[i] == 'j')
            member->state = MEMBER_JOINING;
        if (states[i] == 'r')
            membership_joined(members, i);
        if (strchr("lpd", states[i]) != NULL)
            membership_depart(members, i, DEPARTURE_CLOUD, "", 0, 100, 0);
        if (states[i] == 'l')
            member->departure[DEPARTURE_CLOUD].is_due = true;
        if (strchr("ug", states[i]) != NULL)
            membership_unlisted(members, i, 0, 100);
        if (states[i] == 'q')
            membership_heard(members, i, false);
    }
}

/* Writes the chosen world, "0,3,2", or "" if there is none. */
static void choose(const struct membership *members, const struct member_rules *rules,
                   char text[TEXT_SIZE])
{
    size_t world[2 * HOSTS_MAX], places = next_world_choose(members, rules, world), used = 0, i;

    text[0] = '\0';
    for (i = 0; i < places && used < TEXT_SIZE; i++)
        used += (size_t)snprintf(text + used, TEXT_SIZE - used, "%s%zu", i > 0 ? "," : "",
                                 world[i]);
}

static const int six[] = { 2, 2, 1, 4, 2, 2 };

/* Reads "e MIN MAX", then sizes; "": the world is fixed. */
static struct member_rules read_rules(const char *text)
{
    struct member_rules rules = { .goes_on = true, .is_elastic = text[0] == 'e' };
    char                sizes[40] = "";

    if (rules.is_elastic)
        assert_true(sscanf(text, "e %zu %zu %39s", &rules.min_nodes, &rules.max_nodes, sizes) >=
                    2);
    if (sizes[0] != '\0')
        assert_int_equal(next_world_parse_sizes(sizes, &rules), 0);
    return rules;
}

static const struct {
    const char *states;
    const int  *slots;
    const char *rules, *wanted;
} worlds[] = {
    { "ii", NULL, "", "0,1" },
    { "ixs", NULL, "", "0,2" },
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
    { "ips", NULL, "", "0,1" }, /* it leaves later */
    { "iu", NULL, "", "" },
    { "ius", NULL, "", "0,2" }, /* no new generation begins with it */
    { "ixg", NULL, "", "" },
    { "ixd", NULL, "", "" },
    { "ixq", NULL, "", "" },
    { "ixqs", NULL, "", "0,3" },
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
    { "iips", NULL, "e 1 0", "0,1,2,3" },
    { "iuigdqs", NULL, "e 1 0", "0,6,2" },
    { "iixr", NULL, "e 1 0", "0,1,3" },
    { "iiii", NULL, "e 1 0 6,4", "0,1,2" },
    { "ixxi", NULL, "e 1 0 6,4", "0,3" },
    { "iiisss", six, "e 1 0 5", "0,1,2" },
};

static void test_worlds(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        const struct member_rules rules = read_rules(worlds[i].rules);
        struct membership         members;
        char                      got[TEXT_SIZE];

        set_up(&members, worlds[i].states, worlds[i].slots, &rules);
        choose(&members, &rules, got);
        if (strcmp(got, worlds[i].wanted) != 0)
            fail_msg("case %zu, %s: %s, not %s", i, worlds[i].states, got, worlds[i].wanted);
        membership_clear(&members);
    }
}

static void test_sizes(void **state)
{
    static const char *const bad[] = {
        "", "0", "a", "4,", ",4", "4,,5", "-1", "4 5", "1048577"
    };
    struct member_rules rules;
    size_t              i;

    (void)state;
    assert_int_equal(next_world_parse_sizes("16,12,8", &rules), 0);
    assert_int_equal(rules.worlds_count, 3);
    assert_int_equal(rules.worlds[2], 8);
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(next_world_parse_sizes(bad[i], &rules), -1);
}

static void test_other_sizes(void **state)
{
    static const struct {
        const char *states;
        const int  *slots;
        const char *rules;
        size_t      nodes;
        const char *said; /* NULL: allowed; else the error contains this */
    } cases[] = {
        { "ii--", NULL, "e 1 0", 4, NULL },
        { "ii--", NULL, "e 1 0", 1, NULL },
        { "ii--", NULL, "e 1 0", 5, "there are only 4 hosts" },
        { "ii--", NULL, "e 2 3", 1, "--nnodes does not allow that; allowed: 2, 3" },
        { "ii--", NULL, "e 2 3", 4, "more than --nnodes allows; allowed: 2, 3" },
        { "ii--", NULL, "e 1 0 4,8", 3,
          "3 nodes with 6 ranks: --worlds does not allow that; allowed: 2, 4" },
        { "ii--", NULL, "e 1 0 4,8", 4, NULL },
        { "iig-", NULL, "e 1 0", 4, "there are only 3 hosts" },
        { "iil-", NULL, "e 1 0", 4, "there are only 3 hosts" },
        { "iid-", NULL, "e 1 0", 4, "there are only 3 hosts" },
        { "iiu-", NULL, "e 1 0", 4, "there are only 3 hosts" },
        { "iip-", NULL, "e 1 0", 4, NULL },
        { "xi--", NULL, "e 1 0", 4, NULL },
        { "--iiss", six, "e 1 0 5", 2, NULL },
        { "--iiss", six, "e 1 0 7", 2, "2 nodes with 5 ranks" },
        { "--iiss", six, "e 1 0 9", 2, "allowed: 4" }, /* places, then the first hosts */
        { "--iiss", six, "e 1 0 99", 2, "allowed: none" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct member_rules rules = read_rules(cases[i].rules);
        struct membership         members;
        struct error              err = { "" };
        int                       rc;

        set_up(&members, cases[i].states, cases[i].slots, &rules);
        rc = next_world_may_have(&members, &rules, cases[i].nodes, &err);
        if (rc != (cases[i].said == NULL ? 0 : -1) ||
            (cases[i].said != NULL && strstr(err.text, cases[i].said) == NULL))
            fail_msg("case %zu: %d, %s", i, rc, err.text);
        membership_clear(&members);
    }
}

/* The world shrinks at once, and the last places leave. */
static void test_target(void **state)
{
    static const struct {
        const char *states;
        size_t      target;
        const char *world;
    } cases[] = {
        { "iiii", 2, "0,1" }, { "iiss", 2, "0,1" }, { "iis-", 4, "0,1,2" },
        { "ii--", 3, "0,1" }, { "ixs-", 2, "0,2" }, { "ii--", 2, "0,1" },
        { "i--ss", 1, "0" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct member_rules rules = { .goes_on = true,
                                      .is_elastic = true,
                                      .target = cases[i].target };
        struct membership   members;
        char                got[TEXT_SIZE];

        set_up(&members, cases[i].states, NULL, &rules);
        choose(&members, &rules, got);
        if (strcmp(got, cases[i].world) != 0)
            fail_msg("case %zu: %s", i, got);
        membership_clear(&members);
    }
}

/* --- random schedules ------------------------------------------------------------ */

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void check_world(const struct membership *members, const size_t *world, size_t places)
{
    size_t i, k;

    for (i = 0; i < places; i++) {
        const struct member *member = &members->item[world[i]];

        assert_true(member->is_listed && !membership_is_due(members, world[i]));
        assert_true(member->state == MEMBER_IN ||
                    (member->state == MEMBER_SPARE && !member->is_silent));
        for (k = 0; k < i; k++)
            assert_int_not_equal(world[i], world[k]);
    }
}

/* Checks what must hold whenever a generation begins. */
static void begin(struct membership *members, const struct member_rules *rules)
{
    size_t world[2 * HOSTS_MAX], old[HOSTS_MAX], olds = members->places, i, j;
    size_t places = next_world_choose(members, rules, world);

    check_world(members, world, places);
    assert_true(places > 0);
    assert_int_equal(next_world_size(members, rules), places);
    memcpy(old, members->place, olds * sizeof *old);
    for (i = 0; i < places && !rules->is_elastic; i++)
        for (j = 0; j < olds; j++)
            if (old[j] == world[i])
                assert_int_equal(i, j); /* a node that stays keeps its rank */
    assert_true(rules->is_elastic ? places >= rules->min_nodes : places == olds);
    membership_take(members, rules, world, places);
    assert_true(next_world_is_same(members, rules));
}

struct schedule {
    struct membership     members;
    struct policy_rules   rules;
    struct policy         policy;
    enum membership_stage stage;
    double                now_s, ended_s;
    double                told_s[HOSTS_MAX]; /* of the ranks' notice; 0: they had none */
    bool                  has_notice;
};

static size_t begun[2]; /* generations, of fixed and of elastic worlds */
static size_t done[MEMBERSHIP_DO_SEND_AWAY + 1];

static void change_reasons(struct schedule *all, size_t which)
{
    const enum departure_kind kind = draw(2) == 0 ? DEPARTURE_CLOUD : DEPARTURE_DRAIN;
    const double              left_s = draw(150), margin_s = draw(30);

    switch (draw(4)) {
    case 0:
        membership_unlisted(&all->members, which, all->now_s, left_s);
        break;
    case 1:
        membership_depart(&all->members, which, kind, "", all->now_s, left_s, margin_s);
        break;
    default:
        membership_listed(&all->members, which);
        if (!all->members.item[which].is_announced)
            all->told_s[which] = 0; /* it stays */
        break;
    }
}

static void change_connection(struct schedule *all, size_t which)
{
    const enum member_state state = all->members.item[which].state;

    if (state == MEMBER_IN && all->stage != MEMBERSHIP_STOPPED)
        return; /* its loss would stop the ranks first */
    if (state != MEMBER_AWAY && draw(5) == 0)
        membership_lost(&all->members, which, all->now_s, draw(2) == 0);
    else if (state == MEMBER_JOINING)
        membership_joined(&all->members, which);
    else if (state == MEMBER_LEAVING)
        membership_gone(&all->members, which);
    else if (state == MEMBER_SPARE)
        membership_heard(&all->members, which, draw(3) > 0);
    else if (all->members.count < HOSTS_MAX && draw(20) == 0)
        membership_add(&all->members, "", 1 + (int)draw(4));
}

static void change_stage(struct schedule *all)
{
    if (all->stage == MEMBERSHIP_STARTING)
        all->stage = MEMBERSHIP_RUNNING;
    else if (all->stage == MEMBERSHIP_RUNNING && draw(2) == 0)
        membership_saved(&all->members, all->now_s);
    else if (all->stage == MEMBERSHIP_RUNNING && draw(4) == 0)
        all->stage = MEMBERSHIP_STOPPED;
}

/* Says whether the run goes on. */
static bool decide(struct schedule *all)
{
    struct policy_event  event = { .kind = POLICY_EVENT_TIME, .now_s = all->now_s };
    struct policy_action action;

    if (all->stage == MEMBERSHIP_STOPPED && all->policy.phase == POLICY_RUNNING) {
        if (draw(4) > 0)
            return true; /* some ranks are still there */
        membership_over(&all->members, all->has_notice && draw(2) == 0);
        memset(all->told_s, 0, sizeof all->told_s);
        all->has_notice = false;
        all->ended_s = all->now_s;
        event.kind = POLICY_EVENT_OVER;
        event.end = POLICY_END_NODE;
        event.lived_s = 50;
    }
    action = policy_next(&all->policy, &all->rules, &all->members, &event);
    assert_int_equal(all->policy.restarts, 0); /* losses of nodes do not count */
    if (action.what == POLICY_DO_WAIT || action.what == POLICY_DO_PARK)
        assert_int_equal(action.why, POLICY_WHY_CHANGE);
    if (all->policy.phase == POLICY_PARKED)
        assert_true(policy_due_s(&all->policy, &all->rules, &all->members, all->now_s) <=
                    all->rules.max_wait_s);
    if (action.what == POLICY_DO_STOP) {
        assert_true(all->rules.members.is_elastic);
        all->stage = MEMBERSHIP_STOPPED;
    } else if (action.what == POLICY_DO_START) {
        begin(&all->members, &all->rules.members);
        all->stage = MEMBERSHIP_STARTING;
        begun[all->rules.members.is_elastic]++;
    } else if (action.what == POLICY_DO_END) {
        assert_int_equal(action.why, POLICY_WHY_MAX_WAIT);
        assert_true(all->now_s >= all->ended_s + all->rules.max_wait_s);
    }
    return action.what != POLICY_DO_END;
}

static void dial(struct schedule *all)
{
    const struct member *member = all->members.item;
    struct member        before[HOSTS_MAX];
    const struct member *then;
    size_t               which;

    memcpy(before, member, all->members.count * sizeof *member);
    while ((which = membership_dial(&all->members, &all->rules.members, all->now_s)) !=
           MEMBERSHIP_NONE) {
        then = &before[which];
        assert_true(then->state == MEMBER_AWAY && then->is_listed);
        assert_true(!then->departure[DEPARTURE_DRAIN].is_set && then->free_s <= all->now_s);
        assert_true(!then->departure[DEPARTURE_CLOUD].is_set ||
                    then->departure[DEPARTURE_CLOUD].gone_s + MEMBERSHIP_COOL_S <= all->now_s);
        assert_int_equal(member[which].state, MEMBER_JOINING);
        assert_false(membership_is_due(&all->members, which));
        before[which] = member[which];
    }
    assert_true(membership_dial_s(&all->members, &all->rules.members, all->now_s) != 0);
    while ((which = membership_surplus(&all->members, &all->rules.members)) != MEMBERSHIP_NONE)
        assert_int_equal(before[which].state, MEMBER_SPARE);
}

static void check_told(struct schedule *all, const struct membership_action *action)
{
    const struct member *member = &all->members.item[action->which];
    double              *told_s = &all->told_s[action->which];
    size_t               i;

    assert_int_equal(all->stage, MEMBERSHIP_RUNNING);
    assert_true(action->departure->is_set);
    assert_true(*told_s == 0 || action->departure->gone_s < *told_s);
    assert_false(membership_is_due(&all->members, action->which));
    for (i = 0; i < DEPARTURES; i++)
        assert_true(!member->departure[i].is_set ||
                    member->departure[i].gone_s >= action->departure->gone_s);
    *told_s = action->departure->gone_s;
    all->has_notice = true;
}

static void check_action(struct schedule *all, const struct membership_action *action,
                         enum member_state before)
{
    size_t i, k;

    switch (action->what) {
    case MEMBERSHIP_DO_TELL:
        assert_int_equal(before, MEMBER_IN);
        check_told(all, action);
        break;
    case MEMBERSHIP_DO_TAKE_BACK:
        assert_true(all->stage == MEMBERSHIP_RUNNING && all->has_notice);
        for (i = 0; i < all->members.count; i++)
            for (k = 0; k < DEPARTURES && all->members.item[i].state == MEMBER_IN; k++)
                assert_false(all->members.item[i].departure[k].is_set);
        all->has_notice = false;
        break;
    case MEMBERSHIP_DO_END:
        assert_true(before == MEMBER_IN && action->departure->is_due);
        assert_int_not_equal(all->stage, MEMBERSHIP_STOPPED);
        all->stage = MEMBERSHIP_STOPPED;
        break;
    case MEMBERSHIP_DO_SEND_AWAY:
        assert_true(before == MEMBER_SPARE || before == MEMBER_JOINING);
        assert_int_equal(all->members.item[action->which].state, MEMBER_LEAVING);
        assert_true(action->departure->is_due);
        break;
    case MEMBERSHIP_DO_NOTHING:
        break;
    }
}

/* Carries out all that follows. */
static void follow(struct schedule *all)
{
    struct membership_action action;
    enum member_state        before[HOSTS_MAX + 1] = { 0 };
    size_t                   actions = 0, i;

    do {
        for (i = 0; i < all->members.count; i++)
            before[i] = all->members.item[i].state;
        action = membership_next(&all->members, all->stage, all->now_s);
        assert_true(actions++ <= all->members.count + 2); /* it terminates */
        check_action(all, &action,
                     before[action.which == MEMBERSHIP_NONE ? HOSTS_MAX : action.which]);
        done[action.what]++;
    } while (action.what != MEMBERSHIP_DO_NOTHING);
}

static void check_member(const struct schedule *all, size_t which)
{
    const struct member *member = &all->members.item[which];
    const bool           is_in = member->state == MEMBER_IN;
    bool                 is_any_set = false;
    size_t               i;

    assert_true(member->state >= MEMBER_AWAY && member->state <= MEMBER_LEAVING);
    assert_true(is_in == (membership_place(&all->members, which) != MEMBERSHIP_NONE));
    if (membership_is_due(&all->members, which))
        assert_true(is_in ? all->stage == MEMBERSHIP_STOPPED
                          : member->state == MEMBER_AWAY || member->state == MEMBER_LEAVING);
    for (i = 0; i < DEPARTURES; i++) {
        const struct departure *departure = &member->departure[i];

        assert_true(departure->is_set || !departure->is_due);
        is_any_set = is_any_set || departure->is_set;
        assert_true(!departure->is_set || departure->is_due ||
                    (is_in && departure->due_s > all->now_s));
        if (departure->is_set && all->stage == MEMBERSHIP_RUNNING && is_in)
            assert_true(member->announced_s <= departure->gone_s);
    }
    if (all->stage == MEMBERSHIP_RUNNING && is_in)
        assert_true(member->is_announced == is_any_set);
}

/* Checks what must hold whenever everything that follows was carried out. */
static void check(const struct schedule *all)
{
    size_t       world[2 * HOSTS_MAX], places, pending = 0, told = 0, i, k;
    const double due_s = membership_due_s(&all->members, all->now_s);

    for (i = 0; i < all->members.count; i++) {
        check_member(all, i);
        told += all->members.item[i].is_announced && all->members.item[i].state == MEMBER_IN;
        for (k = 0; k < DEPARTURES; k++) {
            const struct departure *departure = &all->members.item[i].departure[k];

            pending += departure->is_set && !departure->is_due;
        }
    }
    assert_int_equal(membership_is_announced(&all->members), told > 0);
    assert_true(pending > 0 ? due_s > 0 : due_s < 0);
    places = next_world_choose(&all->members, &all->rules.members, world);
    check_world(&all->members, world, places);
}

static void live(uint32_t number)
{
    struct schedule all = { .rules = { .max_restarts = 3,
                                       .delay_s = -1,
                                       .max_wait_s = 5000,
                                       .grow_s = 600,
                                       .members = { .goes_on = true,
                                                    .min_nodes = 2,
                                                    .is_elastic = number % 2 == 0 } } };
    int             step;

    seed = number;
    all.rules.members.max_nodes = draw(2) * 5;
    all.rules.members.target = draw(2) * (3 + draw(3));
    all.rules.members.spares = draw(3);
    set_up(&all.members, number % 3 == 0 ? "iii" : "iiii----", NULL, &all.rules.members);
    for (step = 0; step < 3000; step++) {
        all.now_s += draw(10);
        if (draw(3) == 0)
            change_reasons(&all, draw((uint32_t)all.members.count));
        if (draw(2) == 0)
            change_connection(&all, draw((uint32_t)all.members.count));
        if (draw(6) == 0)
            change_stage(&all);
        follow(&all);
        if (draw(3) > 0)
            dial(&all);
        if (all.stage != MEMBERSHIP_STARTING && !decide(&all))
            break;
        follow(&all);
        check(&all);
    }
    membership_clear(&all.members);
}

static void test_random_schedules(void **state)
{
    uint32_t number;
    size_t   i;

    (void)state;
    for (number = 0; number < 300; number++)
        live(number);
    for (i = 0; i < sizeof done / sizeof *done; i++)
        assert_true(done[i] > 100);
    assert_true(begun[false] > 1000 && begun[true] > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worlds),           cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_other_sizes),      cmocka_unit_test(test_target),
        cmocka_unit_test(test_random_schedules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
