/* test_outcome.c - exit status and report of every way a run can end
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "outcome/outcome.h"
#include "output/output.h"
#include "xalloc.h"

#define NODES 4
#define EACH  2
#define RANKS (NODES * EACH)

/* A run on te1..te4 with two ranks each. */
struct fixture {
    struct plan        plan;
    struct plan_node   node[NODES];
    struct plan_rank   rank[RANKS];
    struct outcome     outcome;
    struct event_base *base;
    struct output     *output;
    int64_t            now_ns;
};

static void consumed_cb(size_t node, size_t bytes, void *arg)
{
    (void)node;
    (void)bytes;
    (void)arg;
}

static void failed_cb(bool is_stderr, int error, void *arg)
{
    (void)is_stderr;
    (void)error;
    (void)arg;
}

static int setup(void **state)
{
    static const struct output_ops ops = { .consumed = consumed_cb, .failed = failed_cb };
    static char        hosts[NODES][4] = { "te1", "te2", "te3", "te4" };
    struct fixture    *f = xcalloc(1, sizeof *f);
    int                null = open("/dev/null", O_WRONLY), n, rank;
    const struct output_settings settings = { .out_fd = null, .err_fd = null };

    f->now_ns = clock_now_ns();
    f->base = event_base_new();
    f->output = output_new(f->base, &settings, &ops, NULL);
    f->plan = (struct plan){ .node = f->node, .nodes = NODES, .node_count = NODES,
                             .world_size = RANKS };
    f->plan.run_id = f->plan.stamp = hosts[0];
    for (n = 0; n < NODES; n++) {
        f->node[n].host = hosts[n];
        f->node[n].rank = &f->rank[n * EACH];
        f->node[n].ranks = EACH;
        for (rank = n * EACH; rank < (n + 1) * EACH; rank++) {
            f->rank[rank].rank = rank;
            f->rank[rank].local_rank = rank % EACH;
            output_add_rank(f->output, rank, (size_t)n, hosts[n], "", true, NULL);
        }
    }
    outcome_init(&f->outcome, &f->plan);
    f->outcome.start_ns = f->now_ns;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    outcome_clear(&f->outcome);
    output_free(f->output);
    event_base_free(f->base);
    free(f);
    return 0;
}

static void start_all(struct fixture *f)
{
    int rank;

    for (rank = 0; rank < RANKS; rank++)
        outcome_rank_started(&f->outcome, rank, 1000 + rank, f->now_ns);
}

static void end_rank(struct fixture *f, int rank, double after_s, struct rank_end how)
{
    const struct rank_end *known = &f->outcome.rank[rank];

    how.started = known->started;
    how.pid = known->pid;
    how.start_ns = known->start_ns;
    how.end_ns = f->now_ns + (int64_t)(after_s * 1e9);
    how.ended = true;
    outcome_rank_ended(&f->outcome, rank, &how);
}

static void end_rest(struct fixture *f, double after_s, struct rank_end how)
{
    int rank;

    for (rank = 0; rank < RANKS; rank++)
        if (!f->outcome.rank[rank].ended)
            end_rank(f, rank, after_s, how);
}

#define EXIT_CODE(number) (struct rank_end){ .code = (number) }
#define KILLED(number)    (struct rank_end){ .signal = (number) }
#define STOPPED           (struct rank_end){ .signal = SIGTERM, .after_stop = true }

static void fail_node(struct fixture *f, size_t node, double after_s, const char *stage,
                      int exit_code, const char *text, const char *hint)
{
    struct conn_failure why = { .stage = stage, .exit_code = exit_code };

    snprintf(why.text, sizeof why.text, "%s", text);
    snprintf(why.hint, sizeof why.hint, "%s", hint);
    outcome_node_failed(&f->outcome, node, &why, f->now_ns + (int64_t)(after_s * 1e9));
}

static void say(struct fixture *f, int rank, const char *text)
{
    output_bytes(f->output, rank, STREAM_STDERR, text, strlen(text));
}

static void expect_report(struct fixture *f, const char *text)
{
    char  *seen = NULL;
    size_t size;
    FILE  *out = open_memstream(&seen, &size);

    outcome_report(&f->outcome, f->output, 0, out);
    fclose(out);
    assert_string_equal(seen, text);
    free(seen);
}

static void test_all_well(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    assert_int_equal(outcome_status(&f->outcome), EXIT_INTERNAL); /* nobody ended yet */
    end_rest(f, 1, EXIT_CODE(0));
    assert_int_equal(outcome_status(&f->outcome), 0);
    expect_report(f, "");
    f->outcome.lost_bytes = 7;
    assert_int_equal(outcome_status(&f->outcome), EXIT_OUTPUT);
    expect_report(f, "muster: 7 bytes of output were lost\n");
    outcome_output_failed(&f->outcome, "stdout: %s", "no room");
    outcome_output_failed(&f->outcome, "stderr: none either");
    expect_report(f, "muster: 7 bytes of output were lost: stdout: no room\n");
    f->outcome.lost_bytes = 0;
    assert_int_equal(outcome_status(&f->outcome), EXIT_OUTPUT);
    expect_report(f, "muster: output may be missing: stdout: no room\n");
}

static void test_first_failing_rank(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    say(f, 2, "Traceback\n\033[2JValueError: no\n");
    end_rank(f, 7, 1, EXIT_CODE(0));
    /* reported later, but it was first */
    end_rank(f, 5, 4.3, EXIT_CODE(4));
    end_rank(f, 2, 4.25, EXIT_CODE(3));
    end_rank(f, 3, 4.5, (struct rank_end){ .code = 1, .after_stop = true });
    end_rank(f, 4, 4.5, (struct rank_end){ .signal = SIGKILL, .after_stop = true });
    end_rest(f, 4.5, STOPPED);
    assert_int_equal(f->outcome.first_rank, 2);
    assert_int_equal(outcome_status(&f->outcome), 3);
    expect_report(f, "muster: rank 2 on te2 failed first: exit 3 (4.2 s after its start)\n"
                     "  | Traceback\n"
                     "  | ^[[2JValueError: no\n"
                     "muster: rank 5 failed too: exit 4\n"
                     "muster: ended after that: ranks 0-1,6 by SIGTERM; rank 3 exit 1; "
                     "rank 4 by SIGKILL\n");
}

static void test_same_words(void **state)
{
    struct fixture *f = *state;
    int             rank;

    start_all(f);
    for (rank = 0; rank < RANKS; rank++)
        say(f, rank, rank == 5 ? "OSError: else\n" : "ImportError: no torch\n");
    for (rank = 0; rank < RANKS; rank++)
        end_rank(f, rank, 1, EXIT_CODE(1));
    expect_report(f, "muster: rank 0 on te1 failed first: exit 1 (1.0 s after its start)\n"
                     "  | ImportError: no torch\n"
                     "muster: ranks 1-4,6-7 failed too: exit 1, with the same last line\n"
                     "muster: rank 5 failed too: exit 1\n"
                     "  | OSError: else\n");
}

/* Each names itself and its port: that is no other reason. */
static void test_same_words_but_numbers(void **state)
{
    struct fixture *f = *state;
    char            text[64];
    int             rank;

    start_all(f);
    for (rank = 0; rank < RANKS; rank++) {
        snprintf(text, sizeof text, "[rank%d]: %s\n", rank,
                 rank < 3 ? "lost te1:47110" : "no peer");
        say(f, rank, text);
        end_rank(f, rank, 1, EXIT_CODE(1));
    }
    expect_report(f, "muster: rank 0 on te1 failed first: exit 1 (1.0 s after its start)\n"
                     "  | [rank0]: lost te1:47110\n"
                     "muster: ranks 1-2 failed too: exit 1, with the same last line except for "
                     "numbers\n"
                     "muster: ranks 3-7 failed too: exit 1\n"
                     "  | [rank3]: no peer\n");
}

/* Two at the same moment: the answer does not depend on whose word came first. */
static void test_ties(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    end_rank(f, 6, 2, EXIT_CODE(6));
    end_rank(f, 1, 2, EXIT_CODE(11));
    assert_int_equal(outcome_status(&f->outcome), 11);
}

static void test_signals(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    end_rank(f, 1, 2, (struct rank_end){ .signal = SIGKILL,
                                         .oom = (char[]){ "cgroup limit 64 MiB" } });
    end_rest(f, 3, STOPPED);
    assert_int_equal(outcome_status(&f->outcome), 128 + SIGKILL);
    expect_report(f, "muster: rank 1 on te1 failed first: killed by SIGKILL: the kernel's OOM "
                     "killer, cgroup limit 64 MiB (2.0 s after its start)\n"
                     "muster: ended after that: ranks 0,2-7 by SIGTERM\n");
}

static void test_signal_without_a_trace(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    end_rank(f, 1, 2, KILLED(SIGBUS));
    end_rest(f, 3, STOPPED);
    assert_int_equal(outcome_status(&f->outcome), 128 + SIGBUS);
    expect_report(f, "muster: rank 1 on te1 failed first: killed by SIGBUS (2.0 s after its "
                     "start)\n"
                     "  hint: is /dev/shm or the disk of that node full?\n"
                     "muster: ended after that: ranks 0,2-7 by SIGTERM\n");
}

static void test_words(void **state)
{
    static const struct {
        struct rank_end end;
        const char     *words;
    } rows[] = {
        { { .started = true }, "fate unknown" },
        { { .ended = false }, "was not started" },
        { { .ended = true, .code = 3 }, "exit 3" },
        { { .ended = true, .code = 137 }, "exit 137 (128 + SIGKILL)" },
        { { .ended = true, .code = 255 }, "exit 255" },
        { { .ended = true, .signal = SIGSEGV, .core = true }, "killed by SIGSEGV (core dumped)" },
        { { .ended = true, .signal = SIGABRT }, "killed by SIGABRT" },
        { { .ended = true, .signal = 40 }, "killed by signal 40" },
    };
    char   words[200];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        rank_end_words(&rows[i].end, words, sizeof words);
        assert_string_equal(words, rows[i].words);
    }
}

static void test_cannot_be_started(void **state)
{
    struct fixture *f = *state;

    outcome_rank_started(&f->outcome, 0, 5, f->now_ns);
    end_rank(f, 1, 0.1, (struct rank_end){ .code = 127, .error = (char[]){ "x: not found" } });
    end_rank(f, 0, 0.2, STOPPED);
    assert_int_equal(outcome_status(&f->outcome), 127);
    expect_report(f, "muster: rank 1 on te1 failed first: could not be started: x: not found\n"
                     "muster: ended after that: rank 0 by SIGTERM\n");
}

static void test_nodes_before_the_start(void **state)
{
    struct fixture *f = *state;

    fail_node(f, 3, 0.1, "connect", EXIT_UNREACHABLE, "10.0.0.4: timed out", "");
    fail_node(f, 1, 0.2, "authenticate", EXIT_REFUSED, "publickey refused", "try ssh-add");
    fail_node(f, 2, 0.3, "authenticate", EXIT_REFUSED, "publickey refused", "try ssh-add");
    fail_node(f, 2, 0.4, "connect", EXIT_UNREACHABLE, "only the first counts", "");
    assert_int_equal(outcome_status(&f->outcome), EXIT_REFUSED);
    expect_report(f, "muster: 3 of 4 nodes failed; nothing was started:\n"
                     "  node     stage         cause\n"
                     "  te[2-3]  authenticate  publickey refused\n"
                     "  te4      connect       10.0.0.4: timed out\n"
                     "  hint: te[2-3]: try ssh-add\n");
    /* who gives up waiting is told that he did */
    outcome_cause(&f->outcome, EXIT_INTERRUPTED, "interrupted");
    assert_int_equal(outcome_status(&f->outcome), EXIT_INTERRUPTED);
}

/* Names, addresses and fingerprints do not make causes differ. */
static void test_nodes_alike(void **state)
{
    struct fixture *f = *state;
    char            text[200], hint[200];
    int             n;

    for (n = 0; n < NODES; n++) {
        snprintf(text, sizeof text, "the server shows ssh-ed25519 SHA256:a%d/x+=; no such key for "
                 "te%d in /h/known_hosts", n, n + 1);
        snprintf(hint, sizeof hint, "compare, or: ssh-keyscan -p 22 te%d.lan >> /h/known_hosts",
                 n + 1);
        fail_node(f, (size_t)n, 0.1, "host key", EXIT_REFUSED, text, hint);
    }
    expect_report(f, "muster: 4 of 4 nodes failed; nothing was started:\n"
                     "  node     stage     cause\n"
                     "  te[1-4]  host key  the server shows ssh-ed25519 ...; no such key for ... "
                     "in /h/known_hosts\n"
                     "  hint: te[1-4]: compare, or: ssh-keyscan -p 22 te1.lan te2.lan te3.lan "
                     "te4.lan >> /h/known_hosts\n");
}

static void test_nodes_alike_by_address(void **state)
{
    struct fixture *f = *state;

    fail_node(f, 0, 0.1, "connect", EXIT_REFUSED, "10.0.0.1 port 22: refused", "ssh-copy-id b@te1");
    fail_node(f, 1, 0.1, "connect", EXIT_REFUSED, "fe80::2 port 22: refused", "ssh-copy-id b@te2");
    fail_node(f, 2, 0.1, "connect", EXIT_REFUSED, "fe80::3 port 23: refused", "");
    fail_node(f, 3, 0.1, "host key", EXIT_REFUSED, "/h/known_hosts:4 has te4", "");
    expect_report(f, "muster: 4 of 4 nodes failed; nothing was started:\n"
                     "  node     stage     cause\n"
                     "  te[1-2]  connect   ... port 22: refused\n"
                     "  te3      connect   fe80::3 port 23: refused\n"
                     "  te4      host key  /h/known_hosts:4 has te4\n"
                     "  hint: te[1-2]: for h in b@te1 b@te2; do ssh-copy-id \"$h\"; done\n");
}

static void test_node_lost(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    f->outcome.has_begun = true;
    f->outcome.rank[5].started = false; /* no word of it came */
    fail_node(f, 2, 5, "running", EXIT_LOST, "nothing heard\nfor \033c 15 s", "");
    end_rank(f, 0, 5.1, EXIT_CODE(1));
    end_rest(f, 6, STOPPED);
    f->outcome.rank[4].ended = f->outcome.rank[5].ended = false;
    assert_int_equal(outcome_status(&f->outcome), EXIT_LOST);
    expect_report(f, "muster: 1 of 4 nodes failed:\n"
                     "  node  stage    cause\n"
                     "  te3   running  nothing heard^Jfor ^[c 15 s\n"
                     "muster: rank 0 on te1 failed: exit 1 (5.1 s after its start)\n"
                     "muster: ended after that: ranks 1-3,6-7 by SIGTERM; ranks 4-5 fate "
                     "unknown\n");
}

static void test_node_lost_after_a_rank(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    end_rank(f, 0, 5, EXIT_CODE(9));
    fail_node(f, 2, 5.1, "stopping", EXIT_LOST, "gone", "");
    end_rest(f, 6, STOPPED);
    assert_int_equal(outcome_status(&f->outcome), 9);
}

/* A node that is lost when all ranks are done: still not success. */
static void test_node_lost_at_the_end(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    end_rest(f, 1, EXIT_CODE(0));
    fail_node(f, 2, 2, "stopping", EXIT_LOST, "gone", "");
    assert_int_equal(outcome_status(&f->outcome), EXIT_LOST);
}

static void test_cause(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    outcome_cause(&f->outcome, EXIT_TIMEOUT, "time limit: --timeout %d s has passed", 5);
    outcome_cause(&f->outcome, EXIT_INTERRUPTED, "too late");
    end_rank(f, 0, 100, (struct rank_end){ .code = 0, .after_stop = true });
    end_rest(f, 100, STOPPED);
    assert_int_equal(outcome_status(&f->outcome), EXIT_TIMEOUT);
    expect_report(f, "muster: time limit: --timeout 5 s has passed\n"
                     "muster: ended after that: rank 0 exit 0; ranks 1-7 by SIGTERM\n");
}

/* `| head`: nothing about ranks that were stopped, nor about what was lost. */
static void test_reader_gone(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    outcome_output_failed(&f->outcome, "stdout: Broken pipe");
    outcome_reader_gone(&f->outcome, "stdout", false);
    assert_int_equal(f->outcome.cause, 0); /* log files have the rest */
    outcome_reader_gone(&f->outcome, "stdout", true);
    outcome_output_lost(&f->outcome, 7);
    end_rest(f, 100, STOPPED);
    assert_int_equal(outcome_status(&f->outcome), EXIT_OUTPUT);
    expect_report(f, "muster: stdout: the reader is gone\n");
}

/* First in time wins, either way round. */
static void test_cause_and_rank(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    outcome_cause(&f->outcome, EXIT_INTERRUPTED, "interrupted");
    end_rank(f, 0, 100, EXIT_CODE(3));
    assert_int_equal(outcome_status(&f->outcome), EXIT_INTERRUPTED);
    end_rank(f, 1, -1, EXIT_CODE(4));
    assert_int_equal(outcome_status(&f->outcome), 4);
}

/* Without a reason to stop, ranks that only ended because they were told to are
 * not a success. */
static void test_never_zero_by_accident(void **state)
{
    struct fixture *f = *state;

    start_all(f);
    end_rest(f, 1, STOPPED);
    assert_int_equal(outcome_status(&f->outcome), EXIT_INTERNAL);
}

static void test_exec(void **state)
{
    struct fixture *f = *state;

    f->outcome.is_exec = true;
    start_all(f);
    end_rank(f, 0, 1, EXIT_CODE(3));
    end_rank(f, 2, 1, EXIT_CODE(3));
    end_rank(f, 4, 1, KILLED(SIGSEGV));
    end_rest(f, 1, EXIT_CODE(0));
    assert_int_equal(outcome_status(&f->outcome), 0);
    f->outcome.largest_status = true;
    assert_int_equal(outcome_status(&f->outcome), 128 + SIGSEGV);
    expect_report(f, "muster: te[1-2]: exit 3\n"
                     "muster: te3: killed by SIGSEGV\n");
    f->outcome.largest_status = false;
    fail_node(f, 3, 1, "connect", EXIT_UNREACHABLE, "refused", "");
    assert_int_equal(outcome_status(&f->outcome), EXIT_UNREACHABLE);
    outcome_cause(&f->outcome, EXIT_INTERRUPTED, "interrupted");
    assert_int_equal(outcome_status(&f->outcome), EXIT_INTERRUPTED);
}

/* With --no_ssh only one node's ranks are ours. */
static void test_part_of_a_world(void **state)
{
    struct fixture *f = *state;
    json_t         *json;

    outcome_clear(&f->outcome);
    f->plan.node = &f->node[1];
    f->plan.nodes = 1;
    outcome_init(&f->outcome, &f->plan);
    outcome_rank_started(&f->outcome, 2, 5, f->now_ns);
    outcome_rank_started(&f->outcome, 3, 6, f->now_ns);
    end_rank(f, 2, 1, EXIT_CODE(0));
    end_rank(f, 3, 1, EXIT_CODE(0));
    assert_int_equal(outcome_status(&f->outcome), 0);
    expect_report(f, "");
    json = outcome_json(&f->outcome, false);
    assert_int_equal(json_array_size(json_object_get(json, "results")), 2);
    json_decref(json);
}

/* Nodes 1 and 2 need 3 and 4 s for each heartbeat. */
static void test_slow_nodes(void **state)
{
    struct fixture   *f = *state;
    struct roundtrips trips;
    json_t           *json, *pace;
    int               n, i;

    for (n = 0; n < NODES; n++) {
        roundtrips_init(&trips);
        for (i = 0; i < 5; i++)
            roundtrips_take(&trips, (uint64_t)i * 10 * NS_PER_S, 0,
                            i * 10 * NS_PER_S + (n == 1 || n == 2 ? (n + 2) * NS_PER_S : 1000));
        outcome_node_pace(&f->outcome, (size_t)n, &trips);
    }
    start_all(f);
    end_rest(f, 1, EXIT_CODE(0));
    assert_int_equal(outcome_status(&f->outcome), 0);
    expect_report(f, "muster: slow: te[2-3] (heartbeat round trips of up to 4.0 s; see "
                     "--json for all)\n");
    json = outcome_json(&f->outcome, false);
    pace = json_array_get(json_object_get(json, "heartbeats"), 1);
    assert_string_equal(json_string_value(json_object_get(pace, "node")), "te2");
    assert_int_equal(json_integer_value(json_object_get(pace, "count")), 5);
    assert_true(json_real_value(json_object_get(pace, "p99")) == 3);
    assert_true(json_is_true(json_object_get(pace, "slow")));
    json_decref(json);
}

static void test_json(void **state)
{
    struct fixture *f = *state;
    json_t         *json, *rank, *first;
    double          start, end;

    start_all(f);
    end_rank(f, 2, 4.25, (struct rank_end){ .signal = SIGSEGV, .core = true });
    end_rest(f, 5, STOPPED);
    fail_node(f, 3, 6, "stopping", EXIT_LOST, "caf\xe9", "");
    json = outcome_json(&f->outcome, false);
    assert_int_equal(json_integer_value(json_object_get(json, "exit_status")), 139);
    assert_int_equal(json_integer_value(json_object_get(json, "world_size")), RANKS);
    rank = json_array_get(json_object_get(json, "results"), 2);
    assert_string_equal(json_string_value(json_object_get(rank, "node")), "te2");
    assert_int_equal(json_integer_value(json_object_get(rank, "rank")), 2);
    assert_int_equal(json_integer_value(json_object_get(rank, "pid")), 1002);
    assert_int_equal(json_integer_value(json_object_get(rank, "signal")), SIGSEGV);
    assert_true(json_is_null(json_object_get(rank, "code")));
    start = json_real_value(json_object_get(rank, "start"));
    end = json_real_value(json_object_get(rank, "end"));
    assert_true(end - start > 4.2 && end - start < 4.3);
    assert_true(start > 1e9);
    first = json_object_get(json, "first_failure");
    assert_true(json_equal(json_object_get(first, "rank"), json_object_get(rank, "rank")));
    assert_string_equal(json_string_value(json_object_get(first, "text")),
                        "killed by SIGSEGV (core dumped)");
    rank = json_array_get(json_object_get(json, "node_failures"), 0);
    assert_string_equal(json_string_value(json_object_get(rank, "text")), "caf?");
    json_decref(json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_well),
        TEST(test_first_failing_rank),
        TEST(test_same_words),
        TEST(test_same_words_but_numbers),
        TEST(test_ties),
        TEST(test_signals),
        TEST(test_signal_without_a_trace),
        TEST(test_words),
        TEST(test_cannot_be_started),
        TEST(test_nodes_before_the_start),
        TEST(test_nodes_alike),
        TEST(test_nodes_alike_by_address),
        TEST(test_node_lost),
        TEST(test_node_lost_after_a_rank),
        TEST(test_node_lost_at_the_end),
        TEST(test_cause),
        TEST(test_reader_gone),
        TEST(test_cause_and_rank),
        TEST(test_never_zero_by_accident),
        TEST(test_exec),
        TEST(test_part_of_a_world),
        TEST(test_slow_nodes),
        TEST(test_json),
    };

    return cmocka_run_group_tests_name("outcome", tests, NULL, NULL);
}
