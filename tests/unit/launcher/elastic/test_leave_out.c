/* test_leave_out.c - which nodes have spoilt a generation
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

#include "elastic/leave_out.h"
#include "elastic/next_world.h"

#define NONE LEAVE_OUT_NONE

static struct leave_out state;

static int begin(void **unused)
{
    (void)unused;
    state = leave_out_new(LEAVE_OUT_EVIDENCE);
    return 0;
}

/* A generation in which a rank of that place and node failed first. */
static struct leave_out_end end_at(size_t node, size_t place)
{
    return (struct leave_out_end){ .node = node, .place = place };
}

/* A generation ends so. Returns the verdict about the node where it ended first. */
static enum leave_out_why over(size_t node, size_t place)
{
    struct leave_out_end end = end_at(node, place);
    size_t               sign;

    leave_out_count(&state, &end);
    return leave_out_judge(&state, &end, node, &sign);
}

static enum leave_out_why judge(const struct leave_out_sign *sign, size_t signs, size_t first,
                                size_t node)
{
    struct leave_out_end end = { first, 0, false, sign, signs };
    size_t               which;

    return leave_out_judge(&state, &end, node, &which);
}

static void test_parse(void **unused)
{
    static const char *const bad[] = { "", "0", "-1", "1001", "two", "1x", "Never", "evidence ",
                                       "99999999999999999999" };
    struct error err;
    int          rule = 7;
    size_t       i;

    (void)unused;
    assert_int_equal(leave_out_parse("evidence", &rule, &err), 0);
    assert_int_equal(rule, LEAVE_OUT_EVIDENCE);
    assert_int_equal(leave_out_parse("never", &rule, &err), 0);
    assert_int_equal(rule, LEAVE_OUT_NEVER);
    assert_int_equal(leave_out_parse("3", &rule, &err), 0);
    assert_int_equal(rule, 3);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(leave_out_parse(bad[i], &rule, &err), -1);
        assert_non_null(strstr(err.text, "neither evidence nor never"));
    }
    assert_int_equal(rule, 3);
}

/* --- generations in a row ----------------------------------------------------- */

static void test_two_in_a_row(void **unused)
{
    (void)unused;
    assert_int_equal(over(2, 1), LEAVE_OUT_STAYS);
    assert_int_equal(over(2, 1), LEAVE_OUT_COUNTED);
}

static void test_in_turn(void **unused)
{
    int i;

    (void)unused;
    for (i = 0; i < 6; i++)
        assert_int_equal(over((size_t)i % 2, (size_t)i % 2), LEAVE_OUT_STAYS);
}

/* A hang may be of the same node; that all ranks fail alike is the program. */
static void test_between(void **unused)
{
    struct leave_out_end hang = end_at(NONE, NONE), alike = end_at(2, 1);

    (void)unused;
    over(2, 1);
    leave_out_count(&state, &hang);
    assert_int_equal(over(2, 1), LEAVE_OUT_COUNTED);
    begin(NULL);
    over(2, 1);
    alike.are_alike = true;
    leave_out_count(&state, &alike);
    assert_int_equal(over(2, 1), LEAVE_OUT_STAYS);
}

static void test_rules(void **unused)
{
    int i;

    (void)unused;
    state = leave_out_new(3);
    for (i = 1; i <= 4; i++)
        assert_int_equal(over(2, 1), i < 3 ? LEAVE_OUT_STAYS : LEAVE_OUT_COUNTED);
    state = leave_out_new(1);
    assert_int_equal(over(2, 1), LEAVE_OUT_COUNTED);
    state = leave_out_new(LEAVE_OUT_NEVER);
    for (i = 0; i < 4; i++)
        assert_int_equal(over(2, 1), LEAVE_OUT_STAYS);
}

/* --- who takes its place ------------------------------------------------------ */

static const struct member_rules fixed = { .goes_on = true };

/* Members 0 to count - 1, of which the first two have places and the others are spares. */
static void hosts(struct membership *members, size_t count)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    const size_t             world[] = { 0, 1 };
    size_t                   i;

    *members = (struct membership){ 0 };
    for (i = 0; i < count; i++)
        membership_add(members, names[i], 2);
    membership_take(members, &fixed, world, 2);
    for (i = 2; i < count; i++)
        membership_joined(members, i);
}

static bool leave_since(enum leave_out_why why, struct membership *members,
                        const struct member_rules *rules, size_t node)
{
    struct leave_out_end end = end_at(node, node);

    return leave_out_node(&state, &end, why, members, rules, node, "it is bad", 10);
}

static bool leave(struct membership *members, const struct member_rules *rules, size_t node)
{
    return leave_since(LEAVE_OUT_COUNTED, members, rules, node);
}

static void test_a_spare_takes_its_place(void **unused)
{
    struct membership        members;
    struct membership_action action;
    size_t                  *world, places;

    (void)unused;
    hosts(&members, 3);
    assert_true(leave(&members, &fixed, 1));
    assert_true(membership_is_left_out(&members, 1));
    world = next_world_new(&members, &fixed, &places);
    assert_int_equal(places, 2);
    assert_int_equal(world[0], 0);
    assert_int_equal(world[1], 2);
    membership_take(&members, &fixed, world, places);
    free(world);
    action = membership_next(&members, MEMBERSHIP_STARTING, 11);
    assert_int_equal(action.what, MEMBERSHIP_DO_SEND_AWAY);
    assert_int_equal(action.which, 1);
    assert_string_equal(action.departure->reason, "it is bad");
    membership_gone(&members, 1);
    membership_lost(&members, 2, 12, true); /* a node is needed now, but not this one */
    assert_int_equal(membership_dial(&members, &fixed, 1e6), 2);
    assert_int_equal(membership_dial(&members, &fixed, 1e6), MEMBERSHIP_NONE);
    membership_trust(&members, 1);
    assert_int_equal(membership_dial(&members, &fixed, 1e6), MEMBERSHIP_NONE); /* 2 is enough */
    membership_clear(&members);
}

/* The user has repaired it. */
static void test_listed_again(void **unused)
{
    struct membership members;

    (void)unused;
    hosts(&members, 3);
    assert_true(leave(&members, &fixed, 1));
    assert_true(membership_unlisted(&members, 1, 11, 0));
    membership_listed(&members, 1);
    assert_false(membership_is_left_out(&members, 1));
    assert_true(membership_is_usable(&members, 1));
    membership_clear(&members);
}

static void test_too_few_nodes(void **unused)
{
    static const struct member_rules elastic = { .goes_on = true, .is_elastic = true };
    static const struct member_rules two = { .goes_on = true, .is_elastic = true, .min_nodes = 2 };
    static const struct member_rules still = { .goes_on = false };
    struct membership                members;

    (void)unused;
    hosts(&members, 2);
    assert_false(leave(&members, &fixed, 1));
    assert_false(leave(&members, &two, 1));
    assert_false(membership_is_due(&members, 1));
    assert_true(leave(&members, &elastic, 1));
    assert_false(leave(&members, &elastic, 0)); /* the last one */
    membership_clear(&members);
    hosts(&members, 3);
    assert_false(leave(&members, &still, 1));
    membership_clear(&members);
}

/* A host that is not connected yet is enough, but not one that was lost a moment ago. */
static void test_spare_to_connect(void **unused)
{
    struct membership members;

    (void)unused;
    hosts(&members, 2);
    membership_add(&members, "c", 2);
    assert_true(leave(&members, &fixed, 1));
    membership_clear(&members);
    hosts(&members, 3);
    membership_lost(&members, 2, 9, false);
    membership_gone(&members, 2);
    assert_false(leave(&members, &fixed, 1));
    membership_clear(&members);
}

/* The rank that fails first does so on another node, too: it is the program. */
static void test_wrong(void **unused)
{
    struct leave_out_end again = end_at(2, 1), other = end_at(0, 0);
    struct membership    members;

    (void)unused;
    hosts(&members, 4);
    over(1, 1);
    over(1, 1);
    assert_true(leave(&members, &fixed, 1));
    assert_int_equal(leave_out_count(&state, &again), 1);
    assert_int_equal(over(2, 1), LEAVE_OUT_STAYS); /* though it is the second in a row */
    assert_int_equal(leave_out_count(&state, &again), NONE);

    begin(NULL); /* evidence is not refuted */
    over(1, 1);
    over(1, 1);
    membership_trust(&members, 1);
    assert_true(leave_since(LEAVE_OUT_BROKEN, &members, &fixed, 1));
    assert_int_equal(leave_out_count(&state, &again), NONE);

    begin(NULL);
    over(1, 1);
    over(1, 1);
    membership_trust(&members, 1);
    assert_true(leave(&members, &fixed, 1));
    assert_int_equal(leave_out_count(&state, &other), NONE);
    assert_int_equal(over(0, 0), LEAVE_OUT_COUNTED);
    membership_clear(&members);
}

/* --- evidence ------------------------------------------------------------------ */

static void test_broken(void **unused)
{
    const struct leave_out_sign sign[] = { { 1, true, "xid 79", 5 } };

    (void)unused;
    assert_int_equal(judge(sign, 1, 1, 1), LEAVE_OUT_BROKEN);
    assert_int_equal(judge(sign, 1, 0, 1), LEAVE_OUT_BROKEN); /* others may fail sooner */
    assert_int_equal(judge(sign, 1, NONE, 1), LEAVE_OUT_BROKEN);
    assert_int_equal(judge(sign, 1, 0, 0), LEAVE_OUT_STAYS);
    state = leave_out_new(2);
    assert_int_equal(judge(sign, 1, 1, 1), LEAVE_OUT_STAYS);
    state = leave_out_new(LEAVE_OUT_NEVER);
    assert_int_equal(judge(sign, 1, 1, 1), LEAVE_OUT_STAYS);
}

/* What may pass counts only where the generation ended first. */
static void test_error(void **unused)
{
    const struct leave_out_sign sign[] = { { 1, false, "link", 5 }, { NONE, false, "oom", 5 } };

    (void)unused;
    assert_int_equal(judge(sign, 2, 1, 1), LEAVE_OUT_BROKEN);
    assert_int_equal(judge(sign, 2, 0, 1), LEAVE_OUT_STAYS);
    assert_int_equal(judge(sign, 2, NONE, 1), LEAVE_OUT_STAYS);
    assert_int_equal(judge(sign + 1, 1, 1, 1), LEAVE_OUT_STAYS);
}

static void test_worst_is_named(void **unused)
{
    const struct leave_out_sign sign[] = { { 1, false, "link", 5 }, { 1, true, "xid 79", 6 },
                                           { 1, true, "gpu lost", 7 } };
    struct leave_out_end        end = { 1, 1, false, sign, 3 };
    size_t                      which = 9;

    (void)unused;
    assert_int_equal(leave_out_judge(&state, &end, 1, &which), LEAVE_OUT_BROKEN);
    assert_int_equal(which, 1);
}

static void test_shared(void **unused)
{
    const struct leave_out_sign both[] = { { 1, true, "disk", 5 }, { 2, true, "disk", 64 } };
    const struct leave_out_sign later[] = { { 1, true, "disk", 5 }, { 2, true, "disk", 66 } };
    const struct leave_out_sign other[] = { { 1, true, "disk", 5 }, { 2, true, "xid 79", 5 } };
    const struct leave_out_sign same[] = { { 1, true, "disk", 5 }, { 1, true, "disk", 5 } };
    const struct leave_out_sign notice[] = { { 1, true, "sxid 4", 5 },
                                             { NONE, false, "sxid 4", 5 } };
    struct leave_out_end        end = { 1, 1, false, both, 2 };

    (void)unused;
    assert_true(leave_out_is_shared(&end, 0));
    assert_int_equal(judge(both, 2, 1, 1), LEAVE_OUT_STAYS);
    assert_int_equal(judge(both, 2, 1, 2), LEAVE_OUT_STAYS);
    assert_int_equal(judge(later, 2, 1, 1), LEAVE_OUT_BROKEN);
    assert_int_equal(judge(other, 2, 1, 2), LEAVE_OUT_BROKEN);
    assert_int_equal(judge(same, 2, 1, 1), LEAVE_OUT_BROKEN);
    assert_int_equal(judge(notice, 2, 1, 1), LEAVE_OUT_BROKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_parse, begin),
        cmocka_unit_test_setup(test_two_in_a_row, begin),
        cmocka_unit_test_setup(test_in_turn, begin),
        cmocka_unit_test_setup(test_between, begin),
        cmocka_unit_test_setup(test_rules, begin),
        cmocka_unit_test_setup(test_a_spare_takes_its_place, begin),
        cmocka_unit_test_setup(test_listed_again, begin),
        cmocka_unit_test_setup(test_too_few_nodes, begin),
        cmocka_unit_test_setup(test_spare_to_connect, begin),
        cmocka_unit_test_setup(test_wrong, begin),
        cmocka_unit_test_setup(test_broken, begin),
        cmocka_unit_test_setup(test_error, begin),
        cmocka_unit_test_setup(test_worst_is_named, begin),
        cmocka_unit_test_setup(test_shared, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
