/* test_master.c - the choice of MASTER_ADDR from who reached what
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

#include "rendezvous/master.h"
#include "xalloc.h"

/* Three nodes; node 0 has docker's bridge first, then its real network. */
static const char hello_text[] =
    "{\"addresses\":["
    "{\"if\":\"lo\",\"addr\":\"127.0.0.1\",\"loopback\":true},"
    "{\"if\":\"docker0\",\"addr\":\"172.17.0.1\",\"loopback\":false},"
    "{\"if\":\"eth1\",\"addr\":\"fd00::1\",\"loopback\":false},"
    "{\"if\":\"eth1\",\"addr\":\"10.0.0.1\",\"loopback\":false}]}";

struct fixture {
    struct plan   plan;
    struct master master;
    json_t       *hello;
};

static int set_up(void **state)
{
    static const char *const names[] = { "te1", "te2", "te3" };
    struct fixture          *f = xcalloc(1, sizeof *f);
    size_t                   i;

    f->plan.nodes = 3;
    f->plan.node = xcalloc(3, sizeof *f->plan.node);
    for (i = 0; i < 3; i++)
        f->plan.node[i].host = xstrdup(names[i]);
    f->hello = json_loads(hello_text, 0, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    json_decref(f->hello);
    master_clear(&f->master);
    plan_clear(&f->plan);
    free(f);
    return 0;
}

static void answer(struct fixture *f, size_t node, const char *text)
{
    json_t *body = json_loads(text, 0, NULL);

    assert_non_null(body);
    assert_int_equal(master_answer(&f->master, node, body, NULL), 0);
    json_decref(body);
}

static void launcher_frames_candidates(void **state)
{
    static const char *const expected[] = { "172.17.0.1", "10.0.0.1", "fd00::1", "127.0.0.1" };
    struct fixture          *f = *state;
    size_t                   i;

    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    assert_int_equal(f->master.candidates, 4);
    for (i = 0; i < 4; i++)
        assert_string_equal(f->master.candidate[i].addr, expected[i]);
}

static void takes_the_first_that_all_reach(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    answer(f, 1, "{\"reached\":[{\"addr\":\"172.17.0.1\",\"if\":\"docker0\"},"
                 "{\"addr\":\"10.0.0.1\",\"if\":\"ens5\"}]}");
    answer(f, 2, "{\"reached\":[{\"addr\":\"10.0.0.1\",\"if\":\"eth9\"}]}");
    assert_int_equal(master_choose(&f->master, &f->plan, NULL), 0);
    assert_string_equal(f->plan.master_addr, "10.0.0.1");
    assert_string_equal(f->plan.node[0].iface, "eth1");
    assert_string_equal(f->plan.node[1].iface, "ens5");
    assert_string_equal(f->plan.node[2].iface, "eth9");
}

static void assert_lossy(const struct fixture *f, bool one, bool two)
{
    bool is_lossy[3];

    master_lossy(&f->master, is_lossy);
    assert_false(is_lossy[0]);
    assert_true(is_lossy[1] == one && is_lossy[2] == two);
}

/* Full packets from the first one do not arrive at te3; if they do from none, it is the first. */
static void prefers_an_address_without_loss(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    answer(f, 1, "{\"reached\":[{\"addr\":\"172.17.0.1\",\"if\":\"a\"},"
                 "{\"addr\":\"10.0.0.1\",\"if\":\"b\"}]}");
    answer(f, 2, "{\"reached\":[{\"addr\":\"172.17.0.1\",\"if\":\"c\",\"lossy\":true},"
                 "{\"addr\":\"10.0.0.1\",\"if\":\"d\"}]}");
    assert_string_equal(master_found(&f->master), "10.0.0.1");
    assert_lossy(f, false, false);
    answer(f, 1, "{\"reached\":[{\"addr\":\"10.0.0.1\",\"if\":\"b\",\"lossy\":true}]}");
    assert_string_equal(master_found(&f->master), "172.17.0.1");
    assert_lossy(f, false, true);
    assert_int_equal(master_choose(&f->master, &f->plan, NULL), 0);
    assert_string_equal(f->plan.node[2].iface, "c");
}

/* The interfaces are those of the address that the ranks get. */
static void keeps_a_given_address_with_loss(void **state)
{
    struct fixture *f = *state;

    f->plan.master_addr = xstrdup("10.0.0.1");
    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    answer(f, 1, "{\"reached\":[{\"addr\":\"172.17.0.1\",\"if\":\"a\"},"
                 "{\"addr\":\"10.0.0.1\",\"if\":\"b\",\"lossy\":true}]}");
    answer(f, 2, "{\"reached\":[{\"addr\":\"172.17.0.1\",\"if\":\"c\"},"
                 "{\"addr\":\"10.0.0.1\",\"if\":\"d\"}]}");
    assert_string_equal(master_found(&f->master), "10.0.0.1");
    assert_lossy(f, true, false);
    assert_int_equal(master_choose(&f->master, &f->plan, NULL), 0);
    assert_string_equal(f->plan.node[1].iface, "b");
}

static void names_who_did_not_reach_what(void **state)
{
    struct fixture *f = *state;
    struct error    err;

    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    answer(f, 1, "{\"reached\":[{\"addr\":\"10.0.0.1\",\"if\":\"ens5\"}]}");
    answer(f, 2, "{\"reached\":[]}");
    assert_int_equal(master_choose(&f->master, &f->plan, &err), -1);
    assert_non_null(strstr(err.text, "10.0.0.1 (eth1): 1 of 2, not te3"));
    assert_null(f->plan.master_addr);
}

static void tells_who_is_apart(void **state)
{
    struct fixture *f = *state;
    bool            is_apart[3];

    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    answer(f, 1, "{\"reached\":[{\"addr\":\"fd00::1\",\"if\":\"ens5\"}]}");
    answer(f, 2, "{\"reached\":[]}");
    master_apart(&f->master, is_apart);
    assert_true(!is_apart[0] && !is_apart[1] && is_apart[2]);
    master_clear(&f->master);
    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    answer(f, 1, "{\"reached\":[]}");
    answer(f, 2, "{\"reached\":[]}");
    master_apart(&f->master, is_apart);
    assert_true(is_apart[0] && !is_apart[1] && !is_apart[2]);
}

static void keeps_what_the_user_gave(void **state)
{
    struct fixture *f = *state;

    f->plan.master_addr = xstrdup("te1.lan");
    f->plan.node[1].iface = xstrdup("ib0");
    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    answer(f, 1, "{\"reached\":[{\"addr\":\"10.0.0.1\",\"if\":\"ens5\"}]}");
    answer(f, 2, "{\"reached\":[{\"addr\":\"10.0.0.1\",\"if\":\"eth0\"}]}");
    assert_int_equal(master_choose(&f->master, &f->plan, NULL), 0);
    assert_string_equal(f->plan.master_addr, "te1.lan");
    assert_string_equal(f->plan.node[1].iface, "ib0");
    assert_string_equal(f->plan.node[2].iface, "eth0");
}

static void iface_limits_candidates(void **state)
{
    struct fixture *f = *state;
    struct error    err;

    f->plan.node[0].iface = xstrdup("eth1");
    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    assert_int_equal(f->master.candidates, 2);
    master_clear(&f->master);
    free(f->plan.node[0].iface);
    f->plan.node[0].iface = xstrdup("eth7");
    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, &err), -1);
    assert_string_equal(err.text, "te1: no network interface has an address");
}

/* Nodes that reach the address that the user gave use the interfaces by which they do. */
static void prefers_the_given_address(void **state)
{
    struct fixture *f = *state;

    f->plan.master_addr = xstrdup("fd00::1");
    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    assert_string_equal(f->master.candidate[0].addr, "fd00::1");
    assert_string_equal(f->master.candidate[1].addr, "172.17.0.1");
    answer(f, 1, "{\"reached\":[{\"addr\":\"fd00::1\",\"if\":\"ib0\"},"
                 "{\"addr\":\"10.0.0.1\",\"if\":\"ens5\"}]}");
    answer(f, 2, "{\"reached\":[{\"addr\":\"10.0.0.1\",\"if\":\"eth9\"},"
                 "{\"addr\":\"fd00::1\",\"if\":\"ib1\"}]}");
    assert_string_equal(master_found(&f->master), "fd00::1");
    assert_int_equal(master_choose(&f->master, &f->plan, NULL), 0);
    assert_string_equal(f->plan.master_addr, "fd00::1");
    assert_string_equal(f->plan.node[1].iface, "ib0");
    assert_string_equal(f->plan.node[2].iface, "ib1");
}

static void refuses_malformed_answers(void **state)
{
    struct fixture *f = *state;
    json_t         *body = json_pack("{s:s}", "reached", "everything");

    assert_int_equal(master_init(&f->master, &f->plan, 0, f->hello, NULL), 0);
    assert_int_equal(master_answer(&f->master, 1, body, NULL), -1);
    json_decref(body);
    /* Addresses that node 0 does not have change nothing. */
    answer(f, 1, "{\"reached\":[{\"addr\":\"10.9.9.9\",\"if\":\"ens5\"}, 7, {}]}");
    assert_int_equal(master_choose(&f->master, &f->plan, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(launcher_frames_candidates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_the_first_that_all_reach, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prefers_an_address_without_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_a_given_address_with_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_who_did_not_reach_what, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_who_is_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_what_the_user_gave, set_up, tear_down),
        cmocka_unit_test_setup_teardown(iface_limits_candidates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prefers_the_given_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_malformed_answers, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
