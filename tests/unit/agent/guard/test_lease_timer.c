/* test_lease_timer.c - a process that is stopped, and dies when its lease is over
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "guard/lease_timer.h"

/* A child does that, and stops. Returns the signal that it died of, after at least so long. */
static int death_of(void (*what)(struct lease_timer *timer), double least_s)
{
    int64_t began = clock_now_ns();
    pid_t   child = fork();
    int     status;

    if (child == 0) {
        struct lease_timer timer = { 0 };

        what(&timer);
        raise(SIGSTOP);
        _exit(0);
    }
    /* Nobody but the timer ends it: otherwise this waits for ever. */
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    if (WIFSTOPPED(status))
        assert_int_equal(waitpid(child, &status, 0), child);
    assert_true((double)(clock_now_ns() - began) / NS_PER_S >= least_s);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void set_once(struct lease_timer *timer)
{
    lease_timer_set(timer, 0.2);
}

static void test_a_stopped_process_dies(void **state)
{
    (void)state;
    assert_int_equal(death_of(set_once, 0.2), SIGKILL);
}

static void set_again(struct lease_timer *timer)
{
    lease_timer_set(timer, 100);
    lease_timer_set(timer, 1);
    lease_timer_set(timer, 1.2);
}

static void test_the_last_time_counts(void **state)
{
    (void)state;
    assert_int_equal(death_of(set_again, 1.2), SIGKILL);
}

/* A second one that is set shows that the first would have had its time. */
static void clear_first(struct lease_timer *timer)
{
    struct lease_timer second = { 0 };

    lease_timer_set(timer, 1);
    lease_timer_clear(timer);
    lease_timer_clear(timer);
    lease_timer_set(&second, 1.3);
}

static void test_a_cleared_one_does_nothing(void **state)
{
    (void)state;
    assert_int_equal(death_of(clear_first, 1.3), SIGKILL);
}

/* The ranks of a guard are its children. */
static void in_a_child(struct lease_timer *timer)
{
    int   status;
    pid_t child;

    lease_timer_set(timer, 1);
    child = fork();
    if (child == 0) {
        usleep(1300000);
        _exit(7);
    }
    lease_timer_clear(timer);
    waitpid(child, &status, 0);
    lease_timer_set(timer, WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0.1 : 100);
}

static void test_children_have_none(void **state)
{
    (void)state;
    assert_int_equal(death_of(in_a_child, 1.3), SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stopped_process_dies),
        cmocka_unit_test(test_the_last_time_counts),
        cmocka_unit_test(test_a_cleared_one_does_nothing),
        cmocka_unit_test(test_children_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
