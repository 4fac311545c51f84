/* test_proxy_turn.c - eight at a time through one proxy; and what counts as a dropped connection
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/ssh/proxy_turn.h"
#include "transport/ssh/retry.h"

enum { ROOM = 8, COUNT = 20 };

struct waiting {
    struct event_base *base;
    struct proxy_turn *turn[COUNT];
    int                come, last;
};

static struct waiting *all;

static void come_cb(void *arg)
{
    all->come++;
    all->last = *(int *)arg;
}

static void wait_for_turn(struct waiting *w, int i, const char *proxy)
{
    static int number[COUNT];

    number[i] = i;
    w->turn[i] = proxy_turn_new(w->base, proxy, come_cb, &number[i]);
}

static int set_up(void **state)
{
    static struct waiting waiting;

    waiting = (struct waiting){ .base = event_base_new() };
    *state = all = &waiting;
    return 0;
}

static int tear_down(void **state)
{
    struct waiting *w = *state;
    int             i;

    for (i = 0; i < COUNT; i++)
        proxy_turn_free(w->turn[i]);
    event_base_free(w->base);
    return 0;
}

static void turn_loop(struct waiting *w)
{
    event_base_loop(w->base, EVLOOP_NONBLOCK);
}

static void test_in_order(void **state)
{
    struct waiting *w = *state;
    int             i;

    for (i = 0; i < COUNT - 1; i++)
        wait_for_turn(w, i, "bastion");
    assert_int_equal(w->come, 0); /* only from the loop */
    turn_loop(w);
    assert_int_equal(w->come, ROOM);
    assert_true(proxy_turn_has_come(w->turn[ROOM - 1]));
    assert_false(proxy_turn_has_come(w->turn[ROOM]));
    wait_for_turn(w, COUNT - 1, "another");
    turn_loop(w);
    assert_int_equal(w->come, ROOM + 1);
    assert_int_equal(w->last, COUNT - 1);
    proxy_turn_free(w->turn[3]);
    proxy_turn_free(w->turn[ROOM + 1]); /* it does not wait any more */
    w->turn[3] = w->turn[ROOM + 1] = NULL;
    turn_loop(w);
    assert_int_equal(w->last, ROOM);
    proxy_turn_free(w->turn[0]);
    w->turn[0] = NULL;
    turn_loop(w);
    assert_int_equal(w->last, ROOM + 2);
    assert_int_equal(w->come, ROOM + 3);
}

/* One that hangs holds nobody up for long. */
static void test_turns_end(void **state)
{
    struct waiting *w = *state;
    int             i;

    for (i = 0; i < ROOM + 1; i++)
        wait_for_turn(w, i, "bastion");
    while (w->come < ROOM + 1)
        event_base_loop(w->base, EVLOOP_ONCE);
    assert_int_equal(w->last, ROOM);
}

static void test_words_of_ssh(void **state)
{
    static const struct {
        const char *said;
        bool        is_drop, may_be;
    } rows[] = {
        { "kex_exchange_identification: Connection closed by remote host | Connection closed by "
          "10.0.0.1 port 22", true, true },
        { "kex_exchange_identification: read: Connection reset by peer", true, true },
        { "kex_exchange_identification: Connection closed by remote host | Connection closed by "
          "UNKNOWN port 65535", true, true },
        { "me@hop: Permission denied (publickey). | kex_exchange_identification: Connection "
          "closed by remote host", false, false },
        { "ssh: connect to host hop port 22: Connection refused | kex_exchange_identification: "
          "Connection closed by remote host", false, false },
        { "Host key verification failed. | kex_exchange_identification: Connection closed by "
          "remote host", false, false },
        { "channel 0: open failed: connect failed: No route to host | stdio forwarding failed | "
          "kex_exchange_identification: Connection closed by remote host", false, false },
        { "no way through", false, false },
        /* OpenSSH 10, where a connection that was closed later looks the same */
        { "Connection closed by 10.0.0.1 port 22", false, true },
        { "", false, true },
        { "me@hop: Permission denied (publickey). | Connection closed by UNKNOWN port 65535",
          false, false },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (retry_is_drop(rows[i].said) != rows[i].is_drop ||
            retry_may_be_drop(rows[i].said) != rows[i].may_be)
            fail_msg("%s", rows[i].said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turns_end, set_up, tear_down),
        cmocka_unit_test(test_words_of_ssh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
