/* test_reconnect.c - a node whose connection is lost or silent, and the way back to its agent
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

#include "clock.h"
#include "exit_code.h"
#include "fake_conn.h"

static int setup(void **state)
{
    struct fake_node *f = calloc(1, sizeof *f);

    fake_node_begin(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fake_node_end(*state);
    free(*state);
    return 0;
}

/* An attempt has been dialled, and its second agent greets us. */
static struct fake_conn *greet(struct fake_node *f, size_t number)
{
    struct fake_conn *fake;

    fake_node_turn(f, 0.02);
    assert_int_equal(fakes_made, number + 1);
    fake = &fakes[number];
    assert_true(fake->is_started);
    fake->conn.ops->open(fake->conn.arg);
    fake_say(fake, FRAME_HELLO, json_pack("{s:i}", "protocol", FRAME_PROTOCOL));
    return fake;
}

/* RECONNECT must have been sent. */
static void expect_asked(struct fake_node *f, struct fake_conn *fake)
{
    json_t     *body = fake_expect(fake, FRAME_RECONNECT);
    const char *socket, *token;
    json_int_t  received;

    assert_int_equal(json_unpack(body, "{s:s, s:s, s:I}", "socket", &socket, "token", &token,
                                 "received", &received), 0);
    assert_string_equal(socket, reconnect_key(f->node.reconnect)->socket);
    assert_string_equal(token, reconnect_key(f->node.reconnect)->token);
    assert_int_equal(received, f->node.resend.taken);
    json_decref(body);
}

static void resume(struct fake_conn *fake, json_int_t received)
{
    fake_say(fake, FRAME_RESUMED, json_pack("{s:I, s:i}", "received", received, "again", 0));
}

static void test_key(void **state)
{
    struct fake_node           *f = *state;
    const struct reconnect_key *key = reconnect_key(f->node.reconnect);

    assert_non_null(strstr(key->socket, "muster-r-0-"));
    assert_int_equal(strlen(key->token), FRAME_NONCE_CHARS);
}

/* What was sent and not acknowledged comes again on the new connection, and only there. */
static void test_cut(void **state)
{
    struct fake_node *f = *state;
    struct fake_conn *second;
    json_int_t        had;

    node_send_u32(&f->node, FRAME_CREDIT, 1);
    had = (json_int_t)evbuffer_get_length(fakes[0].to_agent);
    fake_close(&fakes[0], "connection lost", true);
    assert_true(reconnect_is_cut(f->node.reconnect));
    assert_string_equal(reconnect_cut_why(f->node.reconnect), "connection lost");
    assert_true(node_takes_frames(&f->node));
    assert_true(fakes[0].is_freed);
    node_send_u32(&f->node, FRAME_CREDIT, 2);

    second = greet(f, 1);
    expect_asked(f, second);
    assert_true(reconnect_has_asked(f->node.reconnect));
    resume(second, had);
    fake_expect(second, FRAME_CREDIT); /* the second one; the agent has the first */
    fake_expect_none(second);
    assert_false(reconnect_is_cut(f->node.reconnect));
    assert_ptr_equal(f->node.conn, &second->conn);
    assert_int_equal(f->node.state, NODE_RUNNING);
    assert_int_equal(f->over, 0);
}

static void test_all_again(void **state)
{
    struct fake_node *f = *state;
    struct fake_conn *second;

    node_send_u32(&f->node, FRAME_CREDIT, 1);
    fake_close(&fakes[0], "connection lost", true);
    second = greet(f, 1);
    expect_asked(f, second);
    resume(second, 0);
    fake_expect(second, FRAME_CREDIT);
    fake_expect_none(second);
}

/* What the agent has sent right behind RESUMED is taken, by the node. */
static void test_frames_behind(void **state)
{
    struct fake_node *f = *state;
    struct fake_conn *second;

    fake_close(&fakes[0], "connection lost", true);
    second = greet(f, 1);
    frame_put_json(second->to_launcher, FRAME_RESUMED, 1, 0,
                   json_pack("{s:i, s:i}", "received", 0, "again", 0));
    frame_put_json(second->to_launcher, FRAME_IDLE, 1, 7, json_pack("{s:f}", "idle_s", 1.0));
    second->conn.ops->input(second->to_launcher, second->conn.arg);
    assert_int_equal(f->frames, 1);
    assert_int_equal(f->last_rank, 7);
}

/* An end that is no cut is the agent's: there is nobody to come back to. */
static void test_no_cut(void **state)
{
    struct fake_node *f = *state;

    fake_close(&fakes[0], "muster-agent exited with status 3", false);
    assert_int_equal(f->node.state, NODE_FAILED);
    assert_true(f->node.lost_agent);
    assert_int_equal(f->over, 1);
    fake_node_turn(f, 0.02);
    assert_int_equal(fakes_made, 1);
}

/* The second agent's end is a cut, whatever it looks like: the first one may live. */
static void test_relayed(void **state)
{
    struct fake_node *f = *state;
    struct fake_conn *second;

    fake_close(&fakes[0], "connection lost", true);
    second = greet(f, 1);
    resume(second, 0);
    fake_close(second, "muster-agent exited with status 3", false);
    assert_true(reconnect_is_cut(f->node.reconnect));
    greet(f, 2);
}

static void test_before_plan(void **state)
{
    struct fake_node *f = *state;

    f->node.state = NODE_PROBED;
    fake_close(&fakes[0], "connection lost", true);
    assert_int_equal(f->node.state, NODE_FAILED);
    assert_string_equal(f->node.failure->text, "connection lost");
}

/* Attempts that fail come again, after a pause, until the node is given up. */
static void test_again_and_again(void **state)
{
    struct fake_node *f = *state;

    fake_close(&fakes[0], "connection lost", true);
    fake_node_turn(f, 0.02);
    assert_int_equal(fakes_made, 2);
    fake_close(&fakes[1], "no route to host", true);
    assert_string_equal(reconnect_why(f->node.reconnect), "running: no route to host");
    assert_false(reconnect_answers(f->node.reconnect));
    fake_node_turn(f, 0.1);
    assert_int_equal(fakes_made, 2);
    fake_node_turn(f, 0.4);
    assert_int_equal(fakes_made, 3);

    node_lose(&f->node, "running", NULL, "nothing heard for 15 s");
    assert_int_equal(f->node.failure->exit_code, EXIT_LOST);
    assert_string_equal(f->node.failure->text,
                        "connection lost; reconnecting: running: no route to host");
    assert_false(f->node.lost_agent);
    assert_int_equal(f->over, 1);
    assert_true(fakes[2].input_is_closed);
    fake_node_turn(f, 0.5);
    assert_int_equal(fakes_made, 3);
}

/* A machine that answers, though nobody there knows the run: what is left there can be
 * cleaned. */
static void test_refused(void **state)
{
    struct fake_node *f = *state;
    struct fake_conn *second;

    fake_close(&fakes[0], "connection lost", true);
    second = greet(f, 1);
    expect_asked(f, second);
    fake_say(second, FRAME_ERROR, json_pack("{s:s}", "text", "no such run here"));
    assert_int_equal(f->node.state, NODE_FAILED);
    assert_string_equal(f->node.failure->text, "connection lost; reconnecting: no such run here");
    assert_true(f->node.lost_agent);
}

static void test_bad_resumed(void **state)
{
    static const struct {
        json_int_t  received, again;
        const char *why;
    } cases[] = {
        { -1, 0, "missing or impossible" },
        { 0, -1, "missing or impossible" },
        { 1000, 0, "RESUMED frame" },
    };
    struct fake_node *f = *state;
    size_t            i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_conn *second;

        fake_close(&fakes[0], "connection lost", true);
        second = greet(f, 1);
        fake_say(second, FRAME_RESUMED, json_pack("{s:I, s:I}", "received", cases[i].received,
                                                  "again", cases[i].again));
        assert_int_equal(f->node.state, NODE_FAILED);
        assert_int_equal(f->node.failure->exit_code, EXIT_PROTOCOL);
        if (strstr(f->node.failure->text, cases[i].why) == NULL)
            fail_msg("%s", f->node.failure->text);
        fake_node_end(f);
        fake_node_begin(f);
    }
}

static void test_wrong_frame(void **state)
{
    struct fake_node *f = *state;
    struct fake_conn *second;

    fake_close(&fakes[0], "connection lost", true);
    second = greet(f, 1);
    fake_say(second, FRAME_DONE, json_object());
    assert_int_equal(f->node.failure->exit_code, EXIT_PROTOCOL);
    assert_string_equal(f->node.failure->text, "reconnecting: DONE frame");
}

/* ---- beside a silent connection ---- */

/* From RECONNECT on nothing is taken from the old one; it is freed once the new one works. */
static void test_beside(void **state)
{
    struct fake_node *f = *state;
    struct fake_conn *second;

    reconnect_beside(f->node.reconnect);
    reconnect_beside(f->node.reconnect);
    second = greet(f, 1);
    expect_asked(f, second);
    fake_say(&fakes[0], FRAME_IDLE, json_pack("{s:f}", "idle_s", 1.0));
    assert_int_equal(f->frames, 0);
    assert_false(fakes[0].is_freed);
    resume(second, 0);
    assert_true(fakes[0].is_freed);
    assert_ptr_equal(f->node.conn, &second->conn);
}

/* The old one speaks again before RECONNECT: the attempt is not needed. */
static void test_beside_heard_again(void **state)
{
    struct fake_node *f = *state;

    reconnect_beside(f->node.reconnect);
    fake_node_turn(f, 0.02);
    assert_int_equal(fakes_made, 2);
    fake_say(&fakes[0], FRAME_IDLE, json_pack("{s:f}", "idle_s", 1.0));
    assert_int_equal(f->frames, 1);
    reconnect_stop(f->node.reconnect);
    assert_true(fakes[1].input_is_closed);
    assert_ptr_equal(f->node.conn, &fakes[0].conn);
}

/* An attempt was heard there, and failed: the agent may have left the old connection, whose end
 * is then no end of the agent. */
static void test_may_have_moved(void **state)
{
    struct fake_node *f = *state;

    reconnect_beside(f->node.reconnect);
    fake_close(greet(f, 1), NULL, false);
    assert_false(reconnect_has_asked(f->node.reconnect));
    assert_true(reconnect_may_have_moved(f->node.reconnect));
    fake_close(&fakes[0], "muster-agent exited with status 0", false);
    assert_true(reconnect_is_cut(f->node.reconnect));
    assert_int_equal(f->node.state, NODE_RUNNING);
}

static void test_beside_not_yet(void **state)
{
    struct fake_node *f = *state;

    f->node.state = NODE_PREPARING; /* PLAN may still be on its way */
    reconnect_beside(f->node.reconnect);
    fake_node_turn(f, 0.02);
    assert_int_equal(fakes_made, 1);
}

/* liveness.c dials after a third of --dead-after, and loses the node after all of it. */
static void test_silent(void **state)
{
    struct fake_node *f = *state;
    int64_t           now_ns = clock_now_ns();

    liveness_check(&f->node, 15, 2, now_ns + 4 * NS_PER_S);
    fake_node_turn(f, 0.02);
    assert_int_equal(fakes_made, 1);
    assert_false(f->node.liveness.is_suspect);
    liveness_check(&f->node, 15, 2, now_ns + 6 * NS_PER_S);
    assert_true(f->node.liveness.is_suspect);
    fake_node_turn(f, 0.02);
    assert_int_equal(fakes_made, 2);
    liveness_check(&f->node, 15, 2, now_ns + 16 * NS_PER_S);
    assert_int_equal(f->node.state, NODE_FAILED);
    assert_string_equal(f->node.failure->text, "nothing heard for 16 s");
    assert_string_equal(f->node.failure->stage, "running");
}

/* Before its ranks run it is probably just busy: nothing of it was lost. */
static void test_silent_while_preparing(void **state)
{
    struct fake_node *f = *state;

    f->node.state = NODE_PREPARING;
    liveness_check(&f->node, 15, 2, clock_now_ns() + 16 * NS_PER_S);
    assert_int_equal(f->node.state, NODE_FAILED);
    assert_string_equal(f->node.failure->stage, "preparing");
    assert_string_equal(f->node.failure->text, "nothing heard for 16 s");
    assert_non_null(strstr(f->node.failure->hint, "overloaded"));
}

/* The window is a multiple of the time that a login takes, and the user's time is not part of
 * that. HELLO of who logged in is kept. */
static void test_login_by_sudo(void **state)
{
    struct fake_node *f = *state;

    json_decref(f->node.hello);
    f->node.hello = NULL;
    f->node.state = NODE_GREETING;
    f->node.dialled_ns = clock_now_ns() - 1000 * NS_PER_S;
    fakes[0].conn.asked_ns = 900 * NS_PER_S;
    fakes[0].conn.login = json_pack("{s:s}", "user", "ann");
    fake_say(&fakes[0], FRAME_HELLO,
             json_pack("{s:i, s:i}", "protocol", FRAME_PROTOCOL, "now_ns", 1));
    assert_int_equal(f->node.state, NODE_ANSWERED);
    assert_true(f->node.login_s >= 100 && f->node.login_s < 900);
    json_decref((json_t *)fakes[0].conn.login);
    assert_string_equal(json_string_value(json_object_get(f->node.login, "user")), "ann");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_key, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_frames_behind, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_relayed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_before_plan, setup, teardown),
        cmocka_unit_test_setup_teardown(test_again_and_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_resumed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beside_heard_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_may_have_moved, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beside_not_yet, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silent_while_preparing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_login_by_sudo, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
