/* test_pool.c - hosts, and nodes of hosts without a place: they come, get one, and leave
 *
 * The test plays the generation and the callbacks of these nodes (spare.c). te1 and te2 have
 * places, te3 has none. All agents are fakes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "log.h"
#include "plan/hostfile.h"
#include "run/pool.h"
#include "run_fixture.h"
#include "xalloc.h"

#define SPARE 2    /* te3 */
#define SAVE_S 600 /* for ranks on a host that is no longer listed */
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static struct host        host[HOSTS + 1];
static struct selected    selected[HOSTS + 2]; /* the last is listed twice */
static int                slots[2] = { 0, 1 };
static struct selection   hosts = { selected, HOSTS };
static struct program     program;
static char              *here[] = { NULL };
static struct plan_source source = { &options, &hosts, &program, here };
static bool               leaves_orphans; /* what its agent left must be cleaned up first */

void orphan_cleanup_end(struct node *of)
{
    of->cleanup = NULL;
}

void run_changed(struct run *of)
{
    (void)of;
    told("changed;");
}

static void ignore(struct node *of, void *arg)
{
    (void)of, (void)arg;
}

static void node_over(struct node *of, void *arg)
{
    pool_over(arg, of->index);
    if (leaves_orphans)
        of->cleanup = (struct orphan_cleanup *)&leaves_orphans;
    pool_tidy(arg);
}

static const struct node_ops ops = { .changed = ignore, .stage = ignore, .over = node_over };

static int setup(void **state)
{
    size_t i;

    (void)state;
    run_fixture_begin();
    options = (struct options){ .cwd = (char *)"/tmp" };
    leaves_orphans = false;
    for (i = 0; i < HOSTS + 1; i++) {
        host[i] =
            (struct host){ .name = i < HOSTS ? (char *)names[i] : (char *)"te4", .slots = 2 };
        selected[i] = (struct selected){ .host = &host[i], .slot = slots, .slots = 2 };
    }
    selected[HOSTS + 1] = selected[HOSTS];
    hosts = (struct selection){ selected, HOSTS };
    plan.source = &source;
    plan.run_id = (char *)"r";
    plan.stamp = (char *)"r";
    run.rules.members = (struct member_rules){ .goes_on = true, .spares = 1 };
    run.pool = pool_new(&run, &ops);
    run_fixture_log();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pool_free(run.pool);
    run_fixture_end();
    return 0;
}

static struct node *spare(void)
{
    return pool_node(&run, NODES + SPARE);
}

static struct fake_conn *agent(void)
{
    return &fakes[fakes_made - 1];
}

static struct member *member(size_t which)
{
    return &pool_members(&run)->item[which];
}

static void expect_stop(void)
{
    json_t *body = fake_expect(agent(), FRAME_STOP);

    assert_true(json_number_value(json_object_get(body, "grace_s")) == 0);
    json_decref(body);
}

/* te3 may be tried again after the first cool-down. A test takes less than 5 s. */
static void expect_cools_down(void)
{
    assert_float_equal(member(SPARE)->free_s - clock_now_s(), MEMBERSHIP_COOL_S, 5);
}

/* Makes hosts leave that must, as the generation does. */
static void look(void)
{
    struct membership_action action;

    while ((action = membership_next(pool_members(&run), MEMBERSHIP_RUNNING, clock_now_s()))
               .what == MEMBERSHIP_DO_SEND_AWAY)
        pool_leave(&run, action.which);
}

/* te3 connects, whenever it may be tried. */
static void connects(void)
{
    const double later_s = clock_now_s() + MEMBERSHIP_COOL_MAX_S;
    struct node *made;

    assert_int_equal(membership_dial(pool_members(&run), &run.rules.members, later_s), SPARE);
    made = pool_make_node(&run, SPARE);
    assert_ptr_equal(made, spare());
    node_connect(made, &fake_make(&node_conn_ops, made)->conn);
}

/* te3 has its plan, and is being checked. */
static void is_checked(void)
{
    connects();
    node_enter(spare(), NODE_PREPARING, 0);
}

/* te3 has passed its check. */
static void passes(void)
{
    node_stay(spare());
    pool_joined(&run, SPARE);
    expect_told("changed;");
}

static void becomes_spare(void)
{
    is_checked();
    passes();
}

/* te3 fails its check. */
static void fails(void)
{
    is_checked();
    node_fail(spare(), "check", EXIT_CREATE, "update it", "too old");
    run_fixture_turn(0);
    assert_null(spare());
}

/* te3 has te2's place, and te2 none. */
static struct node *gets_place(void)
{
    static const size_t world[NODES] = { 0, SPARE };
    struct node        *taken = pool_take(&run, SPARE);

    membership_take(pool_members(&run), &run.rules.members, world, NODES);
    node_place(taken, 1, &plan_node[1], node[1].ops);
    return taken;
}

/* te3 loses it again. */
static void loses_place(struct node *taken)
{
    static const size_t world[NODES] = { 0, 1 };

    membership_take(pool_members(&run), &run.rules.members, world, NODES);
    pool_put(&run, SPARE, taken);
}

/* Nothing of te3's agent is left: the event loop frees the node, and looks what follows. */
static void expect_gone(void)
{
    forget_told();
    assert_non_null(spare()); /* callers may still use it */
    assert_int_equal(member(SPARE)->state, MEMBER_LEAVING);
    run_fixture_turn(0);
    assert_null(spare());
    assert_int_equal(member(SPARE)->state, MEMBER_AWAY);
    expect_told("changed;");
}

/* te3's agent exits after STOP. */
static void is_gone(void)
{
    fake_close(agent(), NULL, false);
    expect_gone();
}

static void test_hosts(void **state)
{
    (void)state;
    assert_int_equal(pool_members(&run)->count, HOSTS);
    assert_int_equal(member(0)->state, MEMBER_IN);
    assert_int_equal(member(1)->state, MEMBER_IN);
    assert_int_equal(member(SPARE)->state, MEMBER_AWAY);
    assert_int_equal(membership_place(pool_members(&run), 1), 1);
    assert_int_equal(pool_members(&run)->ranks[1], 2);
    assert_string_equal(pool_name(&run, 1), "te2");
    assert_int_equal(membership_find(pool_members(&run), "te3"), SPARE);
    assert_int_equal(membership_find(pool_members(&run), "te"), MEMBERSHIP_NONE);
    assert_string_equal(pool_host(&run, SPARE, 1).host->name, "te3");
    assert_int_equal(pool_host(&run, SPARE, 1).slots, 1);
    assert_int_equal(pool_host(&run, SPARE, 9).slots, 2);
    assert_int_equal(pool_nodes(&run), NODES + HOSTS);
    assert_ptr_equal(pool_node(&run, 1), &node[1]);
    assert_null(spare());
    assert_false(pool_is_ending(&run));
}

/* A run that does not continue without nodes has the hosts of its plan. */
static void test_fixed_nodes(void **state)
{
    (void)state;
    pool_free(run.pool);
    run.rules.members = (struct member_rules){ 0 };
    plan.source = NULL;
    run.pool = pool_new(&run, &ops);
    assert_int_equal(pool_members(&run)->count, NODES);
    assert_string_equal(pool_name(&run, 1), "te2");
    assert_int_equal(membership_place(pool_members(&run), 1), 1);
    assert_int_equal(pool_members(&run)->ranks[1], 1);
    assert_ptr_equal(pool_node(&run, 1), &node[1]);
    assert_int_equal(pool_nodes(&run), NODES + NODES);
    assert_null(pool_node(&run, NODES));
    assert_null(pool_node(&run, NODES + 1));
    assert_true(pool_end(&run));
}

/* te1 is no longer listed, and te4 is new. Later te4 has another name, and te1 is back. */
static void test_offer(void **state)
{
    const struct departure *departure;

    (void)state;
    hosts = (struct selection){ selected + 1, HOSTS + 1 }; /* te2 te3 te4 te4 */
    pool_offer(&run, &hosts, SAVE_S);
    expect_told("changed;");
    expect_logged("test: warning: te1 leaves in 600 s (its host is no longer on the list)\n");
    assert_int_equal(pool_members(&run)->count, HOSTS + 1);
    assert_string_equal(pool_name(&run, HOSTS), "te4");
    assert_int_equal(pool_host(&run, HOSTS, 9).slots, 2);
    assert_int_equal(member(HOSTS)->state, MEMBER_AWAY);
    assert_false(member(0)->is_listed);
    assert_true(member(1)->is_listed);
    departure = &member(0)->departure[DEPARTURE_UNLISTED];
    assert_true(departure->is_set && !departure->is_due);
    assert_float_equal(departure->due_s - clock_now_s(), SAVE_S, 5);
    assert_false(member(1)->departure[DEPARTURE_UNLISTED].is_set);
    host[HOSTS].name = (char *)"another one"; /* the pool has its own te4 */
    pool_offer(&run, &hosts, SAVE_S);
    expect_told("changed;");
    expect_logged(""); /* that te1 leaves is known, and no rank is on te4 */
    assert_int_equal(pool_members(&run)->count, HOSTS + 2);
    assert_string_equal(pool_name(&run, HOSTS), "te4");
    assert_string_equal(pool_host(&run, HOSTS, 9).host->name, "te4");
    assert_string_equal(pool_name(&run, HOSTS + 1), "another one");
    assert_string_equal(pool_host(&run, HOSTS + 1, 9).host->name, "another one");
    assert_true(membership_is_due(pool_members(&run), HOSTS));
    hosts = (struct selection){ selected, HOSTS };
    pool_offer(&run, &hosts, SAVE_S);
    expect_told("changed;");
    assert_int_equal(pool_members(&run)->count, HOSTS + 2);
    assert_true(member(0)->is_listed);
    assert_false(member(0)->departure[DEPARTURE_UNLISTED].is_set);
}

/* Without time to save, the user learns from the end of the generation that te1 leaves. */
static void test_offer_leaves_no_time(void **state)
{
    (void)state;
    hosts = (struct selection){ selected + 1, HOSTS - 1 };
    pool_offer(&run, &hosts, 0);
    expect_logged("");
    assert_true(member(0)->departure[DEPARTURE_UNLISTED].is_set);
    assert_true(membership_due_s(pool_members(&run), clock_now_s()) == 0);
}

/* A run takes no more hosts than one hostfile, however often the list changes. */
static void test_too_many_hosts(void **state)
{
    struct membership *all = pool_members(&run);
    size_t             count;

    (void)state;
    all->item = xreallocarray(all->item, HOSTFILE_HOSTS_MAX, sizeof *all->item);
    while (all->count <
           HOSTFILE_HOSTS_MAX) /* with realloc() for each, sanitizers take minutes */
        all->item[all->count++] = (struct member){ .name = "gone", .slots = 1 };
    hosts.count = HOSTS + 1;
    pool_offer(&run, &hosts, SAVE_S);
    count = all->count;
    all->count = HOSTS; /* the pool knows nothing of the others */
    assert_int_equal(count, HOSTFILE_HOSTS_MAX);
    expect_logged("test: warning: te4: more than 65536 hosts were listed for this run\n");
}

static void test_becomes_spare(void **state)
{
    (void)state;
    connects();
    assert_int_equal(spare()->state, NODE_CONNECTING);
    assert_true(agent()->is_started);
    assert_int_equal(spare()->index, SPARE);
    assert_ptr_equal(spare()->ops, &ops);
    assert_ptr_equal(spare()->plan, pool_plan(&run, SPARE)->node);
    assert_int_equal(pool_plan(&run, SPARE)->nodes, 1);
    assert_int_equal(pool_plan(&run, SPARE)->world_size, 2);
    assert_string_equal(pool_plan(&run, SPARE)->run_id, "r");
    assert_string_equal(spare()->plan->host, "te3");
    expect_told("");
    node_enter(spare(), NODE_PREPARING, 0);
    assert_int_equal(member(SPARE)->state, MEMBER_JOINING);
    passes();
    assert_int_equal(member(SPARE)->state, MEMBER_SPARE);
}

static void test_no_plan(void **state)
{
    (void)state;
    strlist_add(&host[SPARE].env, "CUDA_VISIBLE_DEVICES=0");
    assert_int_equal(membership_dial(pool_members(&run), &run.rules.members, clock_now_s()),
                     SPARE);
    assert_null(pool_make_node(&run, SPARE));
    expect_logged("test: warning: te3: cannot take part: te3: slot 1 has no device: "
                  "CUDA_VISIBLE_DEVICES=0 names 1\n");
    assert_null(spare());
    assert_int_equal(member(SPARE)->state, MEMBER_AWAY);
    expect_cools_down();
    strlist_clear(&host[SPARE].env);
}

/* muster warns again only if the host was not listed meanwhile. */
static void test_fails_check(void **state)
{
    const struct selection fewer = { selected, HOSTS - 1 };

    (void)state;
    fails();
    expect_cools_down(); /* no retry at once */
    expect_logged("test: warning: te3: cannot take part now: check: too old; update it\n");
    pool_offer(&run, &hosts, SAVE_S); /* nothing has changed */
    fails();
    expect_logged(""); /* the user knows that from the first attempt */
    pool_offer(&run, &fewer, SAVE_S);
    pool_offer(&run, &hosts, SAVE_S);
    fails();
    expect_logged("test: warning: te3: cannot take part now: check: too old; update it\n");
}

static void test_place(void **state)
{
    struct node *taken;

    (void)state;
    becomes_spare();
    taken = gets_place();
    assert_non_null(taken);
    assert_null(spare());
    assert_null(pool_take(&run, SPARE));
    loses_place(taken);
    expect_told("changed;");
    assert_ptr_equal(spare(), taken);
    assert_int_equal(taken->index, SPARE);
    assert_ptr_equal(taken->ops, &ops);
    assert_ptr_equal(taken->plan, pool_plan(&run, SPARE)->node);
    assert_string_equal(taken->plan->host, "te3");
    assert_int_equal(taken->state, NODE_STAYING);
    look();
    fake_expect_none(agent());
    assert_int_equal(member(SPARE)->state, MEMBER_SPARE);
}

/* The node loses its place because it will leave. */
static void test_place_of_leaving(void **state)
{
    struct node *taken;

    (void)state;
    becomes_spare();
    taken = gets_place();
    membership_depart(pool_members(&run), SPARE, DEPARTURE_CLOUD, "spot", clock_now_s(), 120,
                      0);
    loses_place(taken);
    expect_told("changed;");
    look();
    expect_stop();
    assert_int_equal(taken->state, NODE_DONE);
    is_gone();
}

static void test_leave(void **state)
{
    (void)state;
    becomes_spare();
    pool_leave(&run, SPARE);
    expect_stop();
    assert_int_equal(spare()->state, NODE_DONE);
    assert_int_equal(member(SPARE)->state, MEMBER_LEAVING);
    pool_leave(&run, SPARE); /* once is enough */
    fake_expect_none(agent());
    expect_told("");
    is_gone();
    pool_leave(&run, SPARE); /* it has no node */
    assert_int_equal(member(SPARE)->state, MEMBER_AWAY);
    becomes_spare();
    node_enter(spare(), NODE_DONE, 0); /* muster did not ask for it */
    is_gone();
    assert_true(member(SPARE)->free_s == 0); /* it may come back at once */
    expect_logged("");
}

static void test_leave_while_connecting(void **state)
{
    (void)state;
    connects();
    pool_leave(&run, SPARE);
    assert_int_equal(spare()->state, NODE_ENDED);
    expect_gone();
    assert_true(member(SPARE)->free_s == 0);
}

/* The spare's host is listed again before its agent has exited: that agent is no spare. */
static void test_listed_while_leaving(void **state)
{
    const struct selection fewer = { selected, HOSTS - 1 };

    (void)state;
    becomes_spare();
    pool_offer(&run, &fewer, SAVE_S);
    look();
    pool_offer(&run, &hosts, SAVE_S);
    look();
    is_gone();
    assert_false(membership_is_due(pool_members(&run), SPARE));
    becomes_spare();
}

/* After a check that it has passed, the next failure is a new one. */
static void test_lost(void **state)
{
    (void)state;
    fails();
    forget_told();
    becomes_spare();
    forget_logged();
    fake_close(agent(), "connection reset", false);
    assert_int_equal(spare()->state, NODE_FAILED);
    expect_logged("test: warning: te3: spare lost: connection reset\n");
    expect_gone();
}

/* The node is needed until another agent has cleaned up there. */
static void test_lost_agent(void **state)
{
    (void)state;
    becomes_spare();
    leaves_orphans = true;
    fake_close(agent(), "killed", false);
    run_fixture_turn(0);
    assert_non_null(spare());
    assert_int_equal(member(SPARE)->state, MEMBER_LEAVING);
    assert_false(pool_end(&run));
    spare()->cleanup = NULL;
    assert_true(pool_end(&run));
    pool_tidy(&run);
    expect_gone();
}

/* A silent node gets no place. */
static void test_silent(void **state)
{
    (void)state;
    pool_look(&run);
    is_checked();
    spare()->liveness.is_suspect = true;
    pool_look(&run); /* it is not a spare yet */
    expect_told("");
    spare()->liveness.is_suspect = false;
    passes();
    pool_look(&run);
    expect_told("");
    spare()->liveness.is_suspect = true;
    pool_look(&run);
    pool_look(&run);
    expect_told("changed;");
    assert_true(member(SPARE)->is_silent);
    spare()->liveness.is_suspect = false;
    pool_look(&run);
    expect_told("changed;");
    assert_false(member(SPARE)->is_silent);
    reconnect_make_key(spare()->reconnect, "r", 0);
    fake_close(agent(), "connection reset", true);
    assert_int_equal(spare()->state, NODE_STAYING);
    pool_look(&run);
    expect_told("changed;");
    assert_true(member(SPARE)->is_silent);
}

static void test_end(void **state)
{
    (void)state;
    hosts.count = HOSTS + 1;
    pool_offer(&run, &hosts, SAVE_S); /* te4 is not connected */
    forget_told();
    becomes_spare();
    assert_false(pool_end(&run));
    assert_true(pool_is_ending(&run));
    expect_stop();
    assert_false(pool_end(&run));
    is_gone();
    assert_true(pool_end(&run));
}

/* Its agent must end what the check has started. If it fails then, that is no news. */
static void test_end_while_checked(void **state)
{
    (void)state;
    is_checked();
    assert_false(pool_end(&run));
    expect_stop();
    assert_string_equal(spare()->awaited, "its final report");
    fake_close(agent(), "connection reset", false);
    expect_logged("");
    expect_gone();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hosts),
        TEST(test_fixed_nodes),
        TEST(test_offer),
        TEST(test_offer_leaves_no_time),
        TEST(test_too_many_hosts),
        TEST(test_becomes_spare),
        TEST(test_no_plan),
        TEST(test_fails_check),
        TEST(test_place),
        TEST(test_place_of_leaving),
        TEST(test_leave),
        TEST(test_leave_while_connecting),
        TEST(test_listed_while_leaving),
        TEST(test_lost),
        TEST(test_lost_agent),
        TEST(test_silent),
        TEST(test_end),
        TEST(test_end_while_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
