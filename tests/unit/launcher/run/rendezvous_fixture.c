/* rendezvous_fixture.c - see rendezvous_fixture.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rendezvous_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "run/rendezvous.h"

bool goes_on;

/* --- the others ------------------------------------------------------------- */

bool run_goes_on(const struct run *of)
{
    (void)of;
    return goes_on;
}

void phase_await(struct run *of, struct node *which)
{
    (void)of;
    told("await %s;", which->plan->host);
}

/* --- the run ---------------------------------------------------------------- */

/* Both nodes are connected and have sent HELLO; muster has asked them nothing yet. */
int rendezvous_setup(void **state)
{
    size_t i;

    (void)state;
    run_fixture_begin();
    goes_on = false;
    run.phase.now = PHASE_CONNECTING;
    for (i = 0; i < HOSTS; i++)
        node[i].state = NODE_ANSWERED;
    node[0].hello = json_pack("{s:[{s:s, s:s, s:b}]}", "addresses", "if", "eth1", "addr",
                              "10.0.0.1", "loopback", 0);
    run.rendezvous = rendezvous_new();
    outcome_init(&run.outcome, &plan);
    return 0;
}

int rendezvous_teardown(void **state)
{
    size_t i;

    (void)state;
    rendezvous_free(run.rendezvous);
    outcome_clear(&run.outcome);
    free(plan.master_addr);
    run_fixture_end();
    for (i = 0; i < HOSTS; i++)
        free(plan_node[i].iface);
    return 0;
}

void answer(size_t which, json_t *body)
{
    assert_non_null(body);
    rendezvous_take(&run, &node[which], body);
    json_decref(body);
}

void expect_listen(void)
{
    json_t     *body = fake_expect(&fakes[0], FRAME_PROBE);
    const char *op, *token;

    assert_int_equal(json_unpack(body, "{s:s, s:s}", "op", &op, "token", &token), 0);
    assert_string_equal(op, "listen");
    assert_string_equal(token, rendezvous_token(run.rendezvous));
    json_decref(body);
}

void expect_port(int wanted, bool wants_it_only)
{
    json_t     *body = fake_expect(&fakes[0], FRAME_PROBE);
    const char *op;
    int         port, fixed;

    assert_int_equal(json_unpack(body, "{s:s, s:i, s:b}", "op", &op, "port", &port, "fixed",
                                 &fixed), 0);
    assert_string_equal(op, "port");
    assert_int_equal(port, wanted);
    assert_int_equal(fixed, wants_it_only);
    json_decref(body);
}

void expect_connect(void)
{
    json_t     *body = fake_expect(&fakes[1], FRAME_PROBE);
    const char *op, *token, *address;
    int         port;

    assert_int_equal(json_unpack(body, "{s:s, s:s, s:i, s:[s!]}", "op", &op, "token", &token,
                                 "port", &port, "addresses", &address), 0);
    assert_string_equal(op, "connect");
    assert_string_equal(token, rendezvous_token(run.rendezvous));
    assert_int_equal(port, LISTENS);
    assert_string_equal(address, "10.0.0.1");
    json_decref(body);
}

void first_listens(void)
{
    answer(0, json_pack("{s:s, s:i}", "op", "listen", "port", LISTENS));
}

void first_holds(int port)
{
    answer(0, json_pack("{s:s, s:i}", "op", "port", "port", port));
}

void second_reaches(const char *address)
{
    answer(1, json_pack("{s:s, s:[{s:s, s:s}]}", "op", "connect", "reached", "addr", address, "if",
                        "ens5"));
}

void second_reaches_none(void)
{
    answer(1, json_pack("{s:s, s:[]}", "op", "connect", "reached"));
}

void expect_failure(size_t which, const char *stage, int exit_code, const char *text)
{
    assert_non_null(node[which].failure);
    assert_string_equal(node[which].failure->stage, stage);
    assert_int_equal(node[which].failure->exit_code, exit_code);
    assert_string_equal(node[which].failure->text, text);
}
