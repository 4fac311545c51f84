/* test_interrupt.c - the signals that muster gets during a run, and in which order
 *
 * The test plays the phases, the notice, the reader and the hosts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "discovery/host_watch.h"
#include "run/interrupt.h"
#include "run/notice.h"
#include "run/run_status.h"
#include "run_fixture.h"

static bool can_save; /* the ranks get a notice to save */

/* --- the others ------------------------------------------------------------- */

void host_watch_look(struct host_watch *watch)
{
    (void)watch;
    told("look;");
}

bool notice_save(struct run *of)
{
    (void)of;
    told("save;");
    return can_save;
}

void phase_stop(struct run *of)
{
    (void)of;
    told("stop;");
}

void phase_stop_nodes(struct run *of, double grace_s)
{
    (void)of;
    told("stop in %g;", grace_s);
}

void reader_begin(struct reader *reader, struct event_base *base, int signals)
{
    (void)base;
    reader->is_begun = true;
    told("reader after %d;", signals);
}

void reader_interrupted(struct reader *reader)
{
    (void)reader;
    told("reader;");
}

void run_status_ask(struct run *of)
{
    (void)of;
    told("status;");
}

/* --- the run ---------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    run_fixture_begin();
    can_save = false;
    outcome_init(&run.outcome, &plan);
    signal(SIGHUP, SIG_DFL);
    run.interrupt = interrupt_new(&run);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    interrupt_end(&run, 0);
    interrupt_free(run.interrupt);
    outcome_clear(&run.outcome);
    run_fixture_end();
    return 0;
}

static void get(int number)
{
    raise(number);
    event_base_loop(run.base, EVLOOP_NONBLOCK);
}

/* --- tests -------------------------------------------------------------------- */

static void test_one_two_three(void **state)
{
    (void)state;
    assert_false(interrupt_has_come(&run));
    get(SIGINT);
    expect_told("stop;");
    assert_int_equal(run.outcome.cause, 128 + SIGINT);
    assert_string_equal(run.outcome.cause_text, "interrupted");
    assert_true(interrupt_has_come(&run));
    assert_false(interrupt_is_urgent(&run));
    get(SIGINT);
    expect_told("stop;stop in 0;");
    assert_true(interrupt_is_urgent(&run));
    assert_false(event_base_got_break(run.base));
    get(SIGTERM);
    expect_told("");
    assert_true(event_base_got_break(run.base));
    assert_int_equal(run.outcome.cause, 128 + SIGINT); /* the first one */
}

/* TERM lets the ranks save; Ctrl-C does not, and neither does a second signal. */
static void test_saving(void **state)
{
    (void)state;
    can_save = true;
    get(SIGTERM);
    expect_told("save;");
    assert_int_equal(run.outcome.cause, 128 + SIGTERM);
    get(SIGTERM);
    expect_told("stop;stop in 0;");
}

static void test_nothing_to_save(void **state)
{
    (void)state;
    get(SIGTERM);
    expect_told("save;stop;");
}

static void test_hangup(void **state)
{
    (void)state;
    get(SIGHUP);
    expect_told("stop;");
    assert_int_equal(run.outcome.cause, 128 + SIGHUP);
}

/* nohup(1) and --detach. */
static void test_ignored_hangup(void **state)
{
    (void)state;
    interrupt_end(&run, 0);
    interrupt_free(run.interrupt);
    signal(SIGHUP, SIG_IGN);
    run.interrupt = interrupt_new(&run);
    get(SIGHUP);
    expect_told("");
    assert_true(interrupt_is_ignored(SIGHUP));
}

/* Without a terminal, if the hosts can change, HUP reads them again, even if it was ignored. */
static void read_hosts(bool ignored)
{
    interrupt_end(&run, 0);
    interrupt_free(run.interrupt);
    signal(SIGHUP, ignored ? SIG_IGN : SIG_DFL);
    run.host_watch = (struct host_watch *)&run;
    run.interrupt = interrupt_new(&run);
    get(SIGHUP);
    expect_told("look;");
    assert_false(interrupt_has_come(&run));
    get(SIGINT);
    expect_told("stop;");
}

static void test_hosts(void **state)
{
    pid_t pid = fork();
    int   status;

    (void)state;
    if (pid == 0) { /* the child has no terminal */
        setsid();
        event_reinit(run.base);
        read_hosts(false);
        read_hosts(true);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_ranks_get_it(void **state)
{
    static const int ours[] = { SIGQUIT, SIGUSR1, SIGUSR2 };
    json_t          *body;
    size_t           i;

    (void)state;
    node[1].state = NODE_STAYING; /* it has no ranks */
    for (i = 0; i < sizeof ours / sizeof *ours; i++) {
        get(ours[i]);
        body = fake_expect(&fakes[0], FRAME_SIGNAL);
        assert_int_equal(json_integer_value(json_object_get(body, "signal")), ours[i]);
        json_decref(body);
        fake_expect_none(&fakes[1]);
        fake_expect_none(&fakes[2]);
    }
    expect_told("");
}

static void test_others(void **state)
{
    (void)state;
    get(SIGURG);
    expect_told("status;");
    get(SIGTSTP); /* ignored: else the nodes would end the run, and this test would stop */
    get(SIGPIPE);
    get(SIGTTOU);
    get(SIGTTIN);
    get(SIGXFSZ);
    expect_told("");
    assert_false(interrupt_has_come(&run));
}

/* All nodes are over: signals now concern the reader. */
static void test_reader(void **state)
{
    (void)state;
    get(SIGINT);
    interrupt_nodes_over(&run);
    expect_told("stop;reader after 1;");
    get(SIGINT);
    expect_told("reader;");
    get(SIGTERM);
    expect_told("reader;");
    assert_false(event_base_got_break(run.base));
}

/* Then muster may be suspended. */
static void test_suspended(void **state)
{
    pid_t pid = fork();
    int   status;

    (void)state;
    if (pid == 0) {
        event_reinit(run.base);
        interrupt_nodes_over(&run);
        get(SIGTSTP);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_left(void **state)
{
    (void)state;
    interrupt_has_left(&run);
    assert_int_equal(run.outcome.cause, 0);
    interrupt_nodes_over(&run);
    get(SIGTERM);
    interrupt_has_left(&run);
    assert_int_equal(run.outcome.cause, 128 + SIGTERM);
    assert_string_equal(run.outcome.cause_text,
                        "Terminated: muster exited before all output was read");
}

/* Returns the exit status of a process that gets these signals when all output is written. */
static int end(int before, int status, int first, int second)
{
    pid_t pid = fork();
    int   ended, i;

    if (pid == 0) {
        event_reinit(run.base);
        for (i = 0; i < before; i++)
            get(SIGINT);
        interrupt_end(&run, status);
        raise(SIGUSR1);
        raise(first);
        raise(second);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_true(WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

static void test_end(void **state)
{
    (void)state;
    assert_int_equal(end(0, 7, SIGINT, SIGUSR2), 99);
    assert_int_equal(end(0, 7, SIGINT, SIGINT), 7);
    assert_int_equal(end(1, 7, SIGTERM, SIGUSR2), 7); /* counts the signal before */
    assert_int_equal(end(1, 0, SIGTERM, SIGUSR2), 128 + SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_two_three, setup, teardown),
        cmocka_unit_test_setup_teardown(test_saving, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_to_save, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hangup, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ignored_hangup, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hosts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranks_get_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reader, setup, teardown),
        cmocka_unit_test_setup_teardown(test_suspended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_left, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
