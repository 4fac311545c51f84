/* test_stop.c - ending processes: TERM, the grace, KILL, and what KILL cannot end
 *
 * This process stands for a guard without namespace or control group: whatever its children
 * leave behind becomes its child.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "guard/stop.h"

#define TERM_CODE  7     /* of a child that ends by TERM in its own way */
#define PATIENCE_S 20.0
#define LONG_S     1000.0

static const struct containment none;

static void end_in_order(int number)
{
    (void)number;
    _exit(TERM_CODE);
}

static void go_on(int number)
{
    (void)number;
}

/* A child that does what TERM's action says, once it has run what(). */
static pid_t child_start(void (*action)(int), void (*what)(void))
{
    int   ready[2];
    char  byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGTERM, action);
        if (what != NULL)
            what();
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* A daemon with a session of its own, which only KILL ends. */
static void leave_daemon(void)
{
    void (*handler)(int) = signal(SIGTERM, SIG_IGN); /* from its first instruction on */

    if (fork() == 0) {
        setsid();
        for (;;)
            pause();
    }
    signal(SIGTERM, handler);
}

/* Never the same process for long. In a process group of its own, as every rank. */
static void hop(void)
{
    signal(SIGTERM, SIG_IGN);
    setpgid(0, 0);
    if (fork() == 0)
        for (;;)
            if (fork() > 0)
                _exit(0);
}

static double seconds_since(int64_t begin_ns)
{
    return (double)(clock_now_ns() - begin_ns) / NS_PER_S;
}

/* A helper of a rank, in its own group, that ends by TERM in its own way. */
static void start_helper(void)
{
    child_start(end_in_order, NULL);
}

static bool is_alive(pid_t pid)
{
    struct process process;

    return process_read(pid, &process) && process.state != 'Z';
}

/* The one child of that process. */
static pid_t child_of(pid_t parent)
{
    struct processes all;
    pid_t            child;

    processes_below(&all, parent);
    assert_int_equal(all.count, 1);
    child = all.item[0].pid;
    processes_clear(&all);
    return child;
}

/* Drive the stop as its owner does, until there is no child. */
static void drive(struct stop *stop)
{
    int64_t begin_ns = clock_now_ns();
    int     wait_ms;

    for (;;) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
            return;
        wait_ms = stop_step(stop);
        assert_true(wait_ms >= 0);
        assert_true(seconds_since(begin_ns) < PATIENCE_S);
        poll(NULL, 0, wait_ms);
    }
}

/* How it ended; driven meanwhile. */
static int status_of(struct stop *stop, pid_t pid)
{
    int64_t begin_ns = clock_now_ns();
    int     status, wait_ms;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        wait_ms = stop_step(stop);
        assert_true(wait_ms >= 0);
        assert_true(seconds_since(begin_ns) < PATIENCE_S);
        poll(NULL, 0, wait_ms < 5 ? wait_ms : 5);
    }
    return status;
}

static int set_up(void **state)
{
    static struct stop stop;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    stop_init(&stop, &none, getpid());
    *state = &stop;
    return 0;
}

static int tear_down(void **state)
{
    struct stop stop, *used = *state;

    stop_clear(used);
    stop_init(&stop, &none, getpid());
    stop_begin(&stop, 0, NULL, 0);
    drive(&stop);
    return 0;
}

static void test_not_begun(void **state)
{
    struct stop *stop = *state;
    pid_t        pid = child_start(SIG_DFL, NULL);

    assert_int_equal(stop_step(stop), -1);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
}

static void test_term_first(void **state)
{
    struct stop *stop = *state;
    pid_t        pid = child_start(end_in_order, NULL);
    int          status;

    stop_begin(stop, LONG_S, NULL, 0);
    status = status_of(stop, pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), TERM_CODE);
}

static void test_stopped_process_sees_term(void **state)
{
    struct stop *stop = *state;
    pid_t        pid = child_start(end_in_order, NULL);
    int          status;

    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    stop_begin(stop, LONG_S, NULL, 0);
    status = status_of(stop, pid);
    assert_true(WIFEXITED(status));
}

static void test_kill_after_the_grace(void **state)
{
    struct stop *stop = *state;
    pid_t        pid = child_start(SIG_IGN, NULL);
    int64_t      begin_ns = clock_now_ns();
    int          status;

    stop_begin(stop, 0.3, NULL, 0);
    status = status_of(stop, pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_true(seconds_since(begin_ns) >= 0.3);
}

/* A rank that handles TERM has its helpers until it ends. */
static void test_rank_before_its_helper(void **state)
{
    struct stop *stop = *state;
    pid_t        rank = child_start(go_on, start_helper), helper = child_of(rank);
    int          turn, status;

    stop_begin(stop, LONG_S, &rank, 1);
    for (turn = 0; turn < 5; turn++)
        assert_in_range(stop_step(stop), 1, 1000);
    assert_true(is_alive(helper));
    kill(rank, SIGKILL);
    assert_int_equal(waitpid(rank, &status, 0), rank);
    status = status_of(stop, helper); /* it is ours now */
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), TERM_CODE);
}

/* As if three quarters of the grace were over. */
static void test_helper_before_the_end(void **state)
{
    struct stop *stop = *state;
    pid_t        rank = child_start(go_on, start_helper), helper = child_of(rank);
    int64_t      begin_ns = clock_now_ns();

    stop_begin(stop, LONG_S, &rank, 1);
    assert_true(stop->others_at_ns > begin_ns + (int64_t)(LONG_S / 2) * NS_PER_S);
    assert_true(stop->others_at_ns < stop->kill_at_ns);
    stop->others_at_ns = begin_ns;
    assert_true(stop_step(stop) > 1000); /* nothing is due before KILL */
    while (is_alive(helper))
        assert_true(seconds_since(begin_ns) < PATIENCE_S);
    assert_true(is_alive(rank));
}

static void test_shorter_grace_for_helpers(void **state)
{
    struct stop *stop = *state;
    pid_t        rank = child_start(go_on, start_helper);
    int64_t      begin_ns = clock_now_ns(), first_ns;

    stop_begin(stop, LONG_S, &rank, 1);
    first_ns = stop->others_at_ns;
    stop_begin(stop, 2 * LONG_S, &rank, 1);
    assert_int_equal(stop->others_at_ns, first_ns);
    stop_begin(stop, LONG_S / 10, &rank, 1);
    assert_true(stop->others_at_ns < begin_ns + (int64_t)(LONG_S / 10) * NS_PER_S);
    stop_begin(stop, 0, NULL, 0);
    drive(stop);
}

static void test_no_term_without_grace(void **state)
{
    struct stop *stop = *state;
    pid_t        pid = child_start(end_in_order, NULL);
    int          status;

    stop_begin(stop, 0, NULL, 0);
    status = status_of(stop, pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_grace_only_gets_shorter(void **state)
{
    struct stop *stop = *state;
    pid_t        pid = child_start(SIG_IGN, NULL);
    int          status;

    stop_begin(stop, 100, NULL, 0);
    assert_in_range(stop_step(stop), 1000, 100 * 1000);
    stop_begin(stop, LONG_S, NULL, 0);
    assert_in_range(stop_step(stop), 1000, 100 * 1000);
    stop_begin(stop, 0, NULL, 0);
    status = status_of(stop, pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_daemons_are_ended(void **state)
{
    struct stop *stop = *state;
    pid_t        pid = child_start(end_in_order, leave_daemon);

    stop_begin(stop, LONG_S, NULL, 0);
    assert_true(WIFEXITED(status_of(stop, pid)));
    assert_int_equal(containment_count(&none, getpid()), 1);
    stop_begin(stop, 0.1, NULL, 0);
    drive(stop);
    assert_int_equal(containment_count(&none, getpid()), 0);
}

static void test_what_forks_for_ever_is_ended(void **state)
{
    struct stop *stop = *state;

    child_start(SIG_IGN, hop);
    stop_begin(stop, 0, NULL, 0);
    drive(stop);
    assert_int_equal(containment_count(&none, getpid()), 0);
}

/* Found one by one, the processes are always gone; their group is not. On a busy machine none may
 * be there when we look. */
static void test_few_blows_end_what_forks_for_ever(void **state)
{
    int64_t        begin_ns = clock_now_ns();
    struct process root;
    pid_t          pid = 0;
    int            blows = 0;

    (void)state;
    child_start(SIG_IGN, hop);
    assert_true(process_read(getpid(), &root));
    for (; pid >= 0; pid = waitpid(-1, NULL, WNOHANG)) {
        assert_true(seconds_since(begin_ns) < PATIENCE_S);
        if (blows < 5 && pid == 0 && seconds_since(begin_ns) >= blows) {
            containment_kill_below(&root);
            blows++;
        }
    }
    assert_int_equal(errno, ECHILD);
}

/* KILL comes again, but not in a busy loop. */
static void test_pauses_grow(void **state)
{
    struct stop *stop = *state;
    int          wait_ms, last_ms = 0, i;

    stop_begin(stop, 0, NULL, 0);
    for (i = 0; i < 10; i++) {
        wait_ms = stop_step(stop);
        assert_true(wait_ms >= last_ms && wait_ms <= 100);
        last_ms = wait_ms;
        stop->again_at_ns = clock_now_ns(); /* time passes */
    }
    assert_int_equal(last_ms, 100);
}

/* As if KILL had been no use for so long. */
static void test_what_survives_is_reported(void **state)
{
    struct stop *stop = *state;

    stop_begin(stop, 0, NULL, 0);
    assert_true(stop_step(stop) >= 0);
    child_start(SIG_IGN, NULL);
    child_start(SIG_IGN, NULL);
    stop->again_at_ns = clock_now_ns();
    stop->killing_since_ns -= (STOP_STUCK_S + 1) * NS_PER_S;
    assert_int_equal(stop_step(stop), STOP_STUCK);
    assert_int_equal(stop_left(stop), 2);
    assert_int_equal(stop->dumping, 0);
}

static void test_one_is_left_at_least(void **state)
{
    struct stop *stop = *state;

    stop_begin(stop, 0, NULL, 0);
    assert_int_equal(containment_count(&none, getpid()), 0);
    assert_int_equal(stop_left(stop), 1);
}

/* An agent that was listed and has ended: what is below the next process with its pid stays. */
static void test_only_below_the_process_that_was_listed(void **state)
{
    pid_t          pid = child_start(SIG_IGN, leave_daemon);
    struct process root;

    (void)state;
    assert_true(process_read(getpid(), &root));
    root.start++;
    containment_kill_below(&root);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(containment_count(&none, getpid()), 2);
    root.start--;
    containment_kill_below(&root);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_not_begun),
        TEST(test_term_first),
        TEST(test_stopped_process_sees_term),
        TEST(test_kill_after_the_grace),
        TEST(test_rank_before_its_helper),
        TEST(test_helper_before_the_end),
        TEST(test_shorter_grace_for_helpers),
        TEST(test_no_term_without_grace),
        TEST(test_grace_only_gets_shorter),
        TEST(test_daemons_are_ended),
        TEST(test_what_forks_for_ever_is_ended),
        TEST(test_few_blows_end_what_forks_for_ever),
        TEST(test_pauses_grow),
        TEST(test_what_survives_is_reported),
        TEST(test_one_is_left_at_least),
        TEST(test_only_below_the_process_that_was_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
