/* test_agent_frames.c - frames from agents: when they are allowed, and which part gets them
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>

#include <cmocka.h>

#include "course/agent_frames.h"
#include "course/launch.h"
#include "exit_code.h"
#include "frames_fixture.h"
#include "node/node_job.h"

/* te1 or te2 sends a frame about that rank. Takes body. */
static void says_of(size_t which, enum frame_type type, uint32_t rank, json_t *body)
{
    const struct frame frame = { .type = type, .generation = 1, .rank = rank };

    agent_frames_take(&node[which], &frame, body, &run);
    json_decref(body);
}

static void says(size_t which, enum frame_type type, json_t *body)
{
    says_of(which, type, 0, body);
}

static void expect_refused(size_t which, const char *text)
{
    assert_int_equal(node[which].state, NODE_FAILED);
    assert_int_equal(node[which].failure->exit_code, EXIT_PROTOCOL);
    assert_string_equal(node[which].failure->text, text);
}

static json_t *code(int number)
{
    return json_pack("{s:i}", "code", number);
}

static json_t *killed_by(int number)
{
    return json_pack("{s:i}", "signal", number);
}

static json_t *stays(bool does)
{
    return json_pack("{s:b}", "stays", (int)does);
}

/* --- ranks ------------------------------------------------------------------ */

static void test_started(void **state)
{
    const struct launch_watcher watcher = { .started = note_start };

    (void)state;
    starts_told = 0;
    run.watcher = &watcher;
    says_of(0, FRAME_STARTED, 0, json_pack("{s:i}", "pid", 77));
    assert_int_equal(starts_told, 0);
    says_of(1, FRAME_STARTED, 1, json_pack("{s:i}", "pid", 78));
    says_of(1, FRAME_STARTED, 1, json_pack("{s:i}", "pid", 78));
    assert_int_equal(starts_told, 1);
    expect_told("0 started;1 started;1 started;");
    assert_int_equal(run.outcome.rank[0].pid, 77);
}

/* Each rank belongs to one node. */
static void test_rank_of_another(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 1, code(0));
    expect_refused(0, "EXIT frame: not for this rank or not now");
    says_of(1, FRAME_OUTPUT, 2, NULL);
    expect_refused(1, "OUTPUT frame: not for this rank or not now");
    expect_told("");
}

static void test_rank_before_go(void **state)
{
    (void)state;
    node[0].state = NODE_READY;
    says_of(0, FRAME_STARTED, 0, json_object());
    expect_refused(0, "STARTED frame: not for this rank or not now");
}

static void test_rank_after_done(void **state)
{
    (void)state;
    node[0].state = NODE_STAYING;
    says_of(0, FRAME_ABORT, 0, code(1));
    expect_refused(0, "ABORT frame: not while the node waits for another generation");
}

static void test_output_and_shards(void **state)
{
    (void)state;
    says_of(1, FRAME_OUTPUT, 1, NULL);
    says_of(1, FRAME_SHARD, 1, NULL);
    expect_told("page 1;output of 1;shard for 1;");
}

static void test_exit_well(void **state)
{
    (void)state;
    says_of(1, FRAME_EXIT, 1, json_pack("{s:i, s:i}", "code", 0, "maxrss_kb", 1000));
    expect_told("1 is gone;");
    assert_true(run.outcome.rank[1].ended);
    assert_int_equal(run.outcome.rank[1].maxrss_kb, 1000);
    says_of(1, FRAME_EXIT, 1, code(0));
    expect_refused(1, "EXIT frame: this rank has already exited");
}

static void test_exit_failed(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 0, code(3));
    expect_told("0 is gone, by itself;stop;");
    assert_int_equal(run.outcome.first_rank, 0);
    assert_int_equal(run.outcome.rank[0].code, 3);
}

/* The data that a rank read is not to blame if another process killed the rank. */
static void test_exit_killed(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 0, killed_by(SIGKILL));
    expect_told("0 is gone;stop;");
    says_of(1, FRAME_EXIT, 1, json_pack("{s:i, s:s}", "signal", SIGKILL, "oom", "no memory"));
    expect_told("1 is gone, by itself;stop;");
    assert_string_equal(run.outcome.rank[1].oom, "no memory");
}

static void test_exit_stopped(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 0, json_pack("{s:i, s:b}", "code", 3, "stopped", 1));
    expect_told("0 is gone;stop;");
    assert_int_equal(run.outcome.first_rank, -1);
}

static void test_exit_is_none(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 0, code(256));
    expect_refused(0, "EXIT frame: no such exit code or signal");
    says_of(1, FRAME_EXIT, 1, killed_by(NSIG));
    expect_refused(1, "EXIT frame: no such exit code or signal");
    assert_false(run.outcome.rank[0].ended);
}

/* The last generation ended in the same way: perhaps the program itself fails on all ranks. */
static void test_exit_alike(void **state)
{
    (void)state;
    others_s = 2;
    says_of(0, FRAME_STARTED, 0, json_object());
    says_of(1, FRAME_STARTED, 1, json_object());
    forget_told();
    says_of(0, FRAME_EXIT, 0, code(3));
    expect_told("0 is gone, by itself;await others for 2 s;");
    awaits_others = true;
    others_s = 0;
    says_of(1, FRAME_EXIT, 1, code(3));
    expect_told("1 is gone, by itself;stop;"); /* those were all */
}

/* A rank that ends in another way decides it. */
static void test_exit_not_alike(void **state)
{
    (void)state;
    others_s = 2;
    says_of(0, FRAME_EXIT, 0, code(3));
    awaits_others = true;
    others_s = 0;
    forget_told();
    says_of(1, FRAME_EXIT, 1, code(0));
    expect_told("1 is gone;stop;");
}

/* Nodes that each work on their own do not end each other. */
static void test_exit_of_exec(void **state)
{
    (void)state;
    plan.command = COMMAND_EXEC;
    says_of(0, FRAME_EXIT, 0, code(3));
    expect_told("0 is gone, by itself;");
}

static void test_abort(void **state)
{
    (void)state;
    says_of(1, FRAME_ABORT, 1, code(256 + 7));
    expect_told("stop;");
    assert_int_equal(run.outcome.aborted_by, 1);
    assert_int_equal(run.outcome.cause, 7);
}

/* An abort never looks like success. */
static void test_abort_with_0(void **state)
{
    (void)state;
    says_of(1, FRAME_ABORT, 1, code(256));
    assert_int_equal(run.outcome.cause, 1);
}

/* --restart=role: what follows is not of the run. */
static void test_restarts_role(void **state)
{
    (void)state;
    restarts_role = true;
    says_of(0, FRAME_EXIT, 0, code(3));
    expect_told("0 is gone, by itself;role of 0 has failed;");
    says_of(1, FRAME_ABORT, 1, code(256 + 7));
    expect_told("role of 1 is aborted, 7;");
    assert_int_equal(run.outcome.cause, 0);
}

/* --- PMI -------------------------------------------------------------------- */

static void test_barrier(void **state)
{
    json_t *body;
    size_t  i;

    (void)state;
    says(0, FRAME_KVS, json_pack("{s:{s:s}}", "put", "key", "value"));
    fake_expect_none(&fakes[0]);
    says(1, FRAME_KVS, json_pack("{s:{}}", "put"));
    for (i = 0; i < NODES; i++) {
        body = fake_expect(&fakes[i], FRAME_KVS);
        assert_non_null(body);
        json_decref(body);
        fake_expect_none(&fakes[i]);
    }
    fake_expect_none(&fakes[2]);
}

static void test_barrier_twice(void **state)
{
    (void)state;
    says(0, FRAME_KVS, json_pack("{s:{}}", "put"));
    says(0, FRAME_KVS, json_pack("{s:{}}", "put"));
    assert_int_equal(node[0].failure->exit_code, EXIT_PROTOCOL);
}

/* Two ranks of a node, and one of another: one caution. */
static void test_hung_up(void **state)
{
    (void)state;
    says_of(0, FRAME_KVS, 0, json_pack("{s:s}", "closed", "unknown PMI request 'a'"));
    says_of(0, FRAME_KVS, 1, json_pack("{s:s}", "closed", "unknown PMI request 'a'"));
    says_of(1, FRAME_KVS, 2, json_pack("{s:s}", "closed", "unknown PMI request 'a'"));
    assert_int_equal(run.outcome.cautions.count, 1);
    assert_int_equal(run.outcome.cautions.item[0].hosts.count, 2);
    assert_non_null(strstr(run.outcome.cautions.item[0].text, "unknown PMI request 'a'"));
    assert_null(node[0].failure);
}

static void test_barrier_of_exec(void **state)
{
    (void)state;
    plan.command = COMMAND_EXEC;
    says(0, FRAME_KVS, json_pack("{s:{}}", "put"));
    expect_refused(0, "KVS frame: PMI is not available here");
}

/* --- before and after -------------------------------------------------------- */

static void test_ready(void **state)
{
    (void)state;
    node[0].state = node[1].state = NODE_PREPARING;
    says(0, FRAME_READY, json_object());
    assert_int_equal(node[0].state, NODE_READY);
    owes_answer = true;
    says(1, FRAME_READY, json_object());
    assert_int_equal(node[1].state, NODE_PREPARING);
    owes_answer = false;
    is_checked = false;
    says(1, FRAME_READY, json_object());
    assert_int_equal(node[1].state, NODE_PREPARING);
}

/* READY crossed with STOP, or is a second one. */
static void test_ready_not_now(void **state)
{
    (void)state;
    says(0, FRAME_READY, json_object());
    assert_int_equal(node[0].state, NODE_RUNNING);
    assert_null(node[0].failure);
}

/* The same frame answers two questions. */
static void test_probed(void **state)
{
    (void)state;
    says(0, FRAME_PROBED, json_object());
    expect_told("unreached;");
    node[0].state = NODE_STAYING;
    says(0, FRAME_PROBED, json_object());
    node[0].state = NODE_PROBING;
    says(0, FRAME_PROBED, json_object());
    expect_told("te1 answers;te1 answers;");
}

static void test_of_hangs(void **state)
{
    (void)state;
    says(0, FRAME_IDLE, json_object());
    says(0, FRAME_STACKED, json_pack("{s:s}", "text", "here"));
    says_of(0, FRAME_STACKED, 1, json_object()); /* those were all */
    says(0, FRAME_DUMPING, json_object());
    expect_told("idle;stack of 0;stack of 1;dumping;");
    says_of(0, FRAME_STACKED, 1, json_pack("{s:s}", "text", "here"));
    expect_refused(0, "STACKED frame: not for this rank");
}

static void test_notices(void **state)
{
    (void)state;
    says(0, FRAME_NOTICE, json_object());
    says(0, FRAME_NOTICED, json_object());
    says(0, FRAME_CHECKPOINT, json_pack("{s:s}", "path", "save"));
    says(0, FRAME_CHECKPOINT, json_pack("{s:s, s:b}", "path", "save", "noticed", 1));
    expect_told("notice;noticed;seen;seen;checkpoint;");
    node[0].state = NODE_STAYING;
    says(0, FRAME_NOTICE, json_object());
    expect_told("notice;");
    node[1].state = NODE_PROBED;
    says(1, FRAME_NOTICE, json_object());
    expect_refused(1, "NOTICE frame: muster did not ask for it");
}

static void test_checkpoints(void **state)
{
    (void)state;
    says(0, FRAME_CHECKPOINT, json_object());
    expect_refused(0, "CHECKPOINT frame: no path");
    node[1].state = NODE_READY;
    says(1, FRAME_CHECKPOINT, json_pack("{s:s}", "path", "save"));
    expect_refused(1, "CHECKPOINT frame: its ranks do not run yet");
}

static void test_collectives(void **state)
{
    (void)state;
    says(0, FRAME_COLLECTIVES, json_pack("{s:[]}", "list"));
    expect_told("counts;");
    says(0, FRAME_COLLECTIVES, json_object());
    expect_refused(0, "COLLECTIVES frame: no list");
    node[1].state = NODE_READY;
    says(1, FRAME_COLLECTIVES, json_pack("{s:[]}", "list"));
    expect_refused(1, "COLLECTIVES frame: muster did not ask for it");
}

/* The kernel's log counts from GO to DONE, and not for a command of exec. */
static void test_evidence(void **state)
{
    json_t *body = json_pack("{s:s}", "unread", "no /dev/kmsg");

    (void)state;
    says(0, FRAME_EVIDENCE, json_incref(body));
    assert_int_equal(run.outcome.evidence.unreads, 1);
    node[0].state = NODE_STAYING;
    says(0, FRAME_EVIDENCE, json_incref(body));
    expect_refused(0, "EVIDENCE frame: not while the node waits for another generation");
    node[1].state = NODE_PREPARING;
    says(1, FRAME_EVIDENCE, body);
    expect_refused(1, "EVIDENCE frame: not now");
    assert_int_equal(run.outcome.evidence.unreads, 1);
}

static void test_samples(void **state)
{
    (void)state;
    says(0, FRAME_SAMPLES, json_object());
    expect_told("sampled;");
    node[1].state = NODE_PREPARING;
    says(1, FRAME_SAMPLES, json_object());
    expect_refused(1, "SAMPLES frame: not now");
}

static void test_of_job(void **state)
{
    static const struct node_job job = { .frame = job_frame };

    (void)state;
    run.job = &job;
    says(0, FRAME_CLEANED, json_object());
    assert_null(node[0].failure);
    says(0, FRAME_CHECKPOINT, json_object());
    expect_refused(0, "CHECKPOINT frame: muster did not ask for it");
    run.job = NULL;
    says(1, FRAME_CLEANED, json_object());
    expect_refused(1, "CLEANED frame: muster did not ask for it");
}

/* --- errors ------------------------------------------------------------------ */

static void test_error_ends_run(void **state)
{
    (void)state;
    says(1, FRAME_ERROR,
         json_pack("{s:s, s:i, s:s, s:s}", "stage", "plan", "code", EXIT_CREATE, "text",
                   "no space", "hint", "make some"));
    expect_told("stop;");
    assert_int_equal(node[1].state, NODE_RUNNING);     /* until its agent exits */
    assert_false(evtimer_pending(node[1].late, NULL)); /* the limit for all nodes applies */
    assert_string_equal(node[1].failure->stage, "prepare");
    assert_string_equal(node[1].failure->hint, "make some");
    assert_string_equal(run.outcome.node[1]->text, "no space");
    says(1, FRAME_ERROR, json_object());
    assert_int_equal(node[1].state, NODE_FAILED);
    assert_string_equal(node[1].failure->text, "no space"); /* the first one counts */
}

/* No ERROR frame looks like success. */
static void test_error_with_0(void **state)
{
    (void)state;
    says(0, FRAME_ERROR, code(0));
    assert_int_equal(node[0].failure->exit_code, EXIT_INTERNAL);
    says(1, FRAME_ERROR, code(300));
    assert_int_equal(node[1].failure->exit_code, EXIT_INTERNAL);
}

static void test_error_while_preparing(void **state)
{
    (void)state;
    run.phase.now = PHASE_PREPARING;
    node[0].state = NODE_PREPARING;
    says(0, FRAME_ERROR, code(EXIT_CREATE));
    expect_told(""); /* muster still waits for the other nodes */
    assert_true(evtimer_pending(node[0].late, NULL));
}

/* The node's ranks had ended, and the run continues without the node. */
static void test_error_after_end(void **state)
{
    (void)state;
    stayed[0] = true;
    node[0].state = NODE_STAYING;
    says(0, FRAME_ERROR, json_pack("{s:i, s:s}", "code", EXIT_CREATE, "text", "no space"));
    assert_int_equal(node[0].state, NODE_FAILED);
    assert_string_equal(node[0].failure->text, "no space");
    assert_null(run.outcome.node[0]);
    expect_told("");
}

/* --- DONE --------------------------------------------------------------------- */

static void test_done_leaves(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 0, code(0));
    says(0, FRAME_DONE, stays(false));
    assert_int_equal(node[0].state, NODE_DONE);
    says(0, FRAME_DONE, stays(false));
    expect_refused(0, "DONE frame: not now");
}

static void test_done_stays(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 0, code(0));
    says(0, FRAME_DONE, stays(true));
    assert_int_equal(node[0].state, NODE_STAYING);
    assert_int_equal(node[0].generation, 2);
}

static void test_done_with_ranks(void **state)
{
    (void)state;
    says(0, FRAME_DONE, stays(true));
    expect_refused(0, "DONE while 1 rank still runs");
}

static void test_done_not_now(void **state)
{
    (void)state;
    node[0].state = NODE_PREPARING;
    says(0, FRAME_DONE, stays(true));
    expect_refused(0, "DONE frame: not now");
    node[1].state = NODE_PREPARING;
    node_stop(&node[1], 0);
    says(1, FRAME_DONE, stays(true));
    assert_int_equal(node[1].state, NODE_STAYING);
}

/* A process survives SIGKILL there, so this node gets no other generation. */
static void test_done_with_left(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 0, code(0));
    says(0, FRAME_DONE,
         json_pack("{s:b, s:i, s:[{s:i, s:s, s:s}]}", "stays", 1, "left", 1, "stuck", "pid", 9,
                   "name", "dd", "wchan", "nfs_wait"));
    assert_int_equal(node[0].state, NODE_DONE);
    assert_true(outcome_is_left(&run.outcome));
    assert_int_equal(run.outcome.cause, EXIT_LOST);
}

static void test_done_with_losses(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 0, code(0));
    forget_told();
    says(0, FRAME_DONE,
         json_pack("{s:i, s:i, s:i, s:s, s:s}", "lost_bytes", 1, "log_lost_bytes", 10,
                   "unread_bytes", 100, "log_error", "disk full", "port_taken", "sshd"));
    assert_int_equal(run.outcome.lost_bytes, 110);
    assert_string_equal(run.outcome.output_why, "log files on te1: disk full");
    expect_told("sshd holds it;");
    says_of(1, FRAME_EXIT, 1, code(0));
    says(1, FRAME_DONE,
         json_pack("{s:i, s:i}", "log_lost_bytes", -1000, "unread_bytes", -1000));
    assert_int_equal(run.outcome.lost_bytes, 110);
}

/* A file system hangs, and the agent with it. */
static void test_done_unsure(void **state)
{
    (void)state;
    says_of(0, FRAME_EXIT, 0, code(0));
    says(0, FRAME_DONE, json_pack("{s:[s, i]}", "log_unsure", "/mnt/log", 7));
    assert_int_equal(node[0].state, NODE_DONE);
    assert_non_null(strstr(run.outcome.output_why, "last bytes may be missing"));
}

static void test_done_open_mpi(void **state)
{
    (void)state;
    says_of(1, FRAME_EXIT, 1, code(0));
    says(1, FRAME_DONE, json_pack("{s:s}", "open_mpi", "libmpi.so.40"));
    assert_null(run.outcome.apart_text); /* te1 reports it for all */
    says_of(0, FRAME_EXIT, 0, code(0));
    says(0, FRAME_DONE, json_pack("{s:s}", "open_mpi", "libmpi.so.40"));
    assert_non_null(strstr(run.outcome.apart_text, "libmpi.so.40"));
}

#define TEST(name)                                                                             \
    cmocka_unit_test_setup_teardown(name, frames_fixture_begin, frames_fixture_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_started),
        TEST(test_rank_of_another),
        TEST(test_rank_before_go),
        TEST(test_rank_after_done),
        TEST(test_output_and_shards),
        TEST(test_exit_well),
        TEST(test_exit_failed),
        TEST(test_exit_killed),
        TEST(test_exit_stopped),
        TEST(test_exit_is_none),
        TEST(test_exit_alike),
        TEST(test_exit_not_alike),
        TEST(test_exit_of_exec),
        TEST(test_abort),
        TEST(test_abort_with_0),
        TEST(test_restarts_role),
        TEST(test_barrier),
        TEST(test_barrier_twice),
        TEST(test_hung_up),
        TEST(test_barrier_of_exec),
        TEST(test_ready),
        TEST(test_ready_not_now),
        TEST(test_probed),
        TEST(test_of_hangs),
        TEST(test_notices),
        TEST(test_checkpoints),
        TEST(test_collectives),
        TEST(test_evidence),
        TEST(test_samples),
        TEST(test_of_job),
        TEST(test_error_ends_run),
        TEST(test_error_with_0),
        TEST(test_error_while_preparing),
        TEST(test_error_after_end),
        TEST(test_done_leaves),
        TEST(test_done_stays),
        TEST(test_done_with_ranks),
        TEST(test_done_not_now),
        TEST(test_done_with_left),
        TEST(test_done_with_losses),
        TEST(test_done_unsure),
        TEST(test_done_open_mpi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
