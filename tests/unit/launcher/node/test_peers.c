/* test_peers.c - nodes are asked in the middle of a run whether they reach each other
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "exit_code.h"
#include "fake_conn.h"
#include "node/draining.h"
#include "node/peers.h"
#include "xalloc.h"

#define NODES 3

static struct event_base *base;
static struct plan_node   plan[NODES];
static struct node        node[NODES];
static struct node       *all[NODES];
static struct peers      *peers;
static int                done;

static void ignore(struct node *of, void *arg)
{
    (void)of, (void)arg;
}

static void ignore_frame(struct node *of, const struct frame *frame, const json_t *body, void *arg)
{
    (void)of, (void)frame, (void)body, (void)arg;
}

static void done_cb(void *arg)
{
    assert_ptr_equal(arg, &done);
    done++;
}

static int setup(void **state)
{
    static const struct node_ops ops = { ignore, ignore, ignore_frame, ignore, NULL };
    static char                  names[NODES][4];
    size_t                       i;

    (void)state;
    base = event_base_new();
    fakes_made = 0;
    done = 0;
    peers = NULL;
    for (i = 0; i < NODES; i++) {
        snprintf(names[i], sizeof names[i], "te%zu", i + 1);
        plan[i] = (struct plan_node){ .host = names[i], .ranks = 1 };
        node_init(&node[i], i, &plan[i], base, &ops, NULL);
        node[i].conn = &fake_make(&node_conn_ops, &node[i])->conn;
        node[i].state = NODE_RUNNING;
        node[i].hello = json_pack("{s:[{s:s, s:s, s:b}, {s:s, s:s, s:b}, {s:s, s:o, s:b}]}",
                                  "addresses", "if", "lo", "addr", "127.0.0.1", "loopback", 1, "if",
                                  "eth0", "addr", "fd00::1", "loopback", 0, "if", "eth1", "addr",
                                  json_sprintf("10.0.0.%zu", i + 1), "loopback", 0);
        all[i] = &node[i];
    }
    return 0;
}

static int teardown(void **state)
{
    size_t i;

    (void)state;
    peers_free(peers);
    for (i = 0; i < NODES; i++)
        node_clear(&node[i]);
    draining_await(base, 0);
    for (i = 0; i < fakes_made; i++) {
        evbuffer_free(fakes[i].to_launcher);
        evbuffer_free(fakes[i].to_agent);
    }
    event_base_free(base);
    return 0;
}

static void turn(double seconds)
{
    struct timeval limit = clock_interval(seconds);

    event_base_loopexit(base, &limit);
    event_base_dispatch(base);
}

static void ask(size_t nodes, const char *master_addr)
{
    const struct peers_question question = { all, nodes, "secret", master_addr };

    peers = peers_begin(base, &question, done_cb, &done);
}

/* It was asked to listen. */
static void expect_listen(size_t which)
{
    json_t     *body = fake_expect(&fakes[which], FRAME_PROBE);
    const char *op, *token;
    int         timeout_ms;

    assert_int_equal(json_unpack(body, "{s:s, s:s, s:i}", "op", &op, "token", &token, "timeout_ms",
                                 &timeout_ms), 0);
    assert_string_equal(op, "listen");
    assert_string_equal(token, "secret");
    assert_int_equal(timeout_ms, (int)(PEERS_S * 1000));
    json_decref(body);
}

/* It was asked to call these: "0 10.0.0.1 7001;" each. */
static void expect_calls(size_t which, const char *calls)
{
    json_t     *body = fake_expect(&fakes[which], FRAME_PROBE), *call;
    char        text[200] = "";
    const char *op, *addr;
    size_t      i, used = 0;
    int         to, port;

    assert_int_equal(json_unpack(body, "{s:s}", "op", &op), 0);
    assert_string_equal(op, "peers");
    json_array_foreach(json_object_get(body, "peers"), i, call) {
        assert_int_equal(json_unpack(call, "{s:i, s:s, s:i}", "node", &to, "addr", &addr, "port",
                                     &port), 0);
        used += (size_t)snprintf(text + used, sizeof text - used, "%d %s %d;", to, addr, port);
    }
    assert_string_equal(text, calls);
    json_decref(body);
}

static void answer(size_t which, json_t *body)
{
    peers_take(peers, &node[which], body);
    json_decref(body);
}

static void listens(size_t which, int port)
{
    expect_listen(which);
    answer(which, json_pack("{s:i}", "port", port));
}

static void reaches_all(size_t which)
{
    answer(which, json_pack("{s:[]}", "unreached"));
}

static void expect_lines(const char *text)
{
    char   lines[600] = "";
    size_t i, used = 0;

    assert_true(peers_are_known(peers));
    assert_int_equal(done, 1);
    for (i = 0; i < peers_lines(peers)->count; i++)
        used += (size_t)snprintf(lines + used, sizeof lines - used, "%s\n",
                                 peers_lines(peers)->item[i]);
    assert_string_equal(lines, text);
}

/* Nobody calls before all listen: else it would find no port. */
static void test_all_is_well(void **state)
{
    (void)state;
    ask(3, "10.0.0.1");
    listens(0, 7001);
    listens(1, 7002);
    fake_expect_none(&fakes[0]);
    listens(2, 7003);
    expect_calls(0, "1 10.0.0.2 7002;2 10.0.0.3 7003;");
    expect_calls(1, "0 10.0.0.1 7001;2 10.0.0.3 7003;");
    expect_calls(2, "0 10.0.0.1 7001;1 10.0.0.2 7002;");
    reaches_all(0);
    reaches_all(1);
    assert_false(peers_are_known(peers));
    assert_int_equal(done, 0);
    reaches_all(2);
    expect_lines("all 3 nodes can reach each other\n");
    assert_int_equal(event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED), 0); /* once only */
}

static void test_a_pair(void **state)
{
    json_t *json;

    (void)state;
    ask(2, NULL);
    listens(0, 7001);
    listens(1, 7002);
    answer(0, json_pack("{s:[{s:i, s:s}]}", "unreached", "node", 1, "why", "timed out"));
    reaches_all(1);
    expect_lines("te1 cannot reach te2 (10.0.0.1 -> 10.0.0.2: timed out)\n");
    json = peers_json(peers);
    assert_int_equal(json_array_size(json), 1);
    json_decref(json);
}

/* The address of the same family as MASTER_ADDR, of the interface that leads to it, and no
 * loopback if there is another. */
static void test_addresses(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < NODES; i++)
        plan[i].iface = (char *)"eth0";
    plan[1].iface = (char *)"eth1";
    json_array_clear(json_object_get(node[2].hello, "addresses"));
    json_array_append_new(json_object_get(node[2].hello, "addresses"),
                          json_pack("{s:s, s:s}", "if", "eth0", "addr", "te3; reboot"));
    ask(3, "fd00::9");
    listens(0, 7001);
    listens(1, 7002);
    expect_calls(0, "1 10.0.0.2 7002;");
    expect_calls(1, "0 fd00::1 7001;");
    fake_expect_none(&fakes[2]); /* what it has is no address */
}

static void test_master_decides_the_family(void **state)
{
    (void)state;
    ask(2, "fd00::9");
    listens(0, 7001);
    listens(1, 7002);
    expect_calls(0, "1 fd00::1 7002;");
}

/* One that is cut off is not asked, and then there is nobody to reach. */
static void test_one_node(void **state)
{
    struct conn *conn = node[1].conn;

    (void)state;
    node[1].conn = NULL;
    ask(2, NULL);
    node[1].conn = conn;
    fake_expect_none(&fakes[0]);
    fake_expect_none(&fakes[1]);
    assert_int_equal(done, 0); /* from the event loop */
    turn(0.02);
    expect_lines("");
}

/* It is left out; the others call each other. */
static void test_it_cannot_listen(void **state)
{
    (void)state;
    ask(3, NULL);
    listens(0, 7001);
    expect_listen(1);
    answer(1, json_pack("{s:s}", "error", "no \033[2Jports"));
    listens(2, 7003);
    expect_calls(0, "2 10.0.0.3 7003;");
    fake_expect_none(&fakes[1]);
    reaches_all(0);
    reaches_all(2);
    assert_non_null(strstr(peers_lines(peers)->item[0], "te2 could not be tested: no "));
    assert_null(strchr(peers_lines(peers)->item[0], '\033'));
}

/* It does not answer in time, and is ignored when it does. */
static void test_silence(void **state)
{
    (void)state;
    ask(3, NULL);
    listens(0, 7001);
    listens(1, 7002);
    expect_listen(2);
    turn(2.2);
    expect_calls(0, "1 10.0.0.2 7002;");
    expect_calls(1, "0 10.0.0.1 7001;");
    answer(2, json_pack("{s:i}", "port", 7003));
    fake_expect_none(&fakes[2]);
    reaches_all(0);
    reaches_all(0); /* twice */
    assert_int_equal(done, 0);
    reaches_all(1);
    expect_lines("te3 did not say whether it can reach the others\n");
    reaches_all(1);
    assert_int_equal(done, 1);
}

/* The connection breaks between the two questions. */
static void test_it_is_lost(void **state)
{
    (void)state;
    ask(3, NULL);
    listens(0, 7001);
    listens(1, 7002);
    expect_listen(2);
    node_fail(&node[0], "running", EXIT_LOST, NULL, "gone");
    answer(2, json_pack("{s:i}", "port", 7003));
    expect_calls(1, "2 10.0.0.3 7003;");
    expect_calls(2, "1 10.0.0.2 7002;");
    assert_false(peers_are_known(peers));
}

/* A node that answers what nobody asked is no node of muster's. */
static void test_senseless(void **state)
{
    static const char *const ports[] = { "{}", "{\"port\": 0}", "{\"port\": 65536}" };
    static const char *const pairs[] = {
        "{}", "{\"unreached\": [{\"node\": 1}]}", "{\"unreached\": [{\"node\": 0, \"why\": \"\"}]}",
        "{\"unreached\": [{\"node\": -1, \"why\": \"\"}]}",
        "{\"unreached\": [{\"node\": 2, \"why\": \"\"}]}",
        "{\"unreached\": [{\"node\": 1, \"why\": \"\"}, {\"node\": 1, \"why\": \"\"}]}",
    };
    size_t i;
    void  *ignored;

    for (i = 0; i < sizeof ports / sizeof *ports; i++) {
        ask(2, NULL);
        answer(0, json_loads(ports[i], 0, NULL));
        assert_int_equal(node[0].state, NODE_FAILED);
        assert_int_equal(node[0].failure->exit_code, EXIT_PROTOCOL);
        teardown(state);
        setup(&ignored);
    }
    for (i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ask(2, NULL);
        listens(0, 7001);
        listens(1, 7002);
        answer(0, json_loads(pairs[i], 0, NULL));
        assert_int_equal(node[0].state, NODE_FAILED);
        teardown(state);
        setup(&ignored);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_is_well, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_pair, setup, teardown),
        cmocka_unit_test_setup_teardown(test_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_master_decides_the_family, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_node, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_cannot_listen, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_is_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_senseless, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
