/* progress_fixture.c - see progress_fixture.h
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

#include "progress_fixture.h"

#include "course/agent_frames.h"
#include "course/generation.h"
#include "course/progress.h"
#include "exit_code.h"
#include "node/flow.h"
#include "node/shared_machine.h"
#include "output/output.h"
#include "plan/plan_encode.h"
#include "run/costs.h"
#include "run/deadline.h"
#include "run/heartbeat.h"
#include "run/pool.h"
#include "run/rendezvous.h"
#include "run/run_status.h"
#include "run/stacks.h"
#include "run/start_check.h"
#include "xalloc.h"

bool         goes_on, may_restart, asks_again, is_one_machine, pool_is_gone;
int          refused, looks, compared;
bool         has_left[HOSTS];
struct terms terms[HOSTS];
const struct plan *world;

static struct node            *all[HOSTS] = { &node[0], &node[1], &node[2] };
static struct node            *in_cleanup;
static orphan_cleanup_over_cb *cleanup_is_over;

/* --- connections ------------------------------------------------------------ */

static struct conn *dialled(const char *kind, const struct conn_target *to,
                            const struct conn_ops *ops, void *arg)
{
    told("%s %s:%d in %g s", kind, to->host, to->port, to->connect_timeout_s);
    if (to->segment_bytes != 0)
        told(", %d bytes at once", to->segment_bytes);
    told(";");
    return &fake_make(ops, arg)->conn;
}

struct conn *conn_ssh_new(struct event_base *base, const struct conn_target *target,
                          const struct agent_file *file, const struct conn_ops *ops, void *arg)
{
    (void)base, (void)file;
    return dialled("ssh", target, ops, arg);
}

struct conn *conn_openssh_new(struct event_base *base, const struct conn_target *target,
                              const struct agent_file *file, const struct conn_ops *ops,
                              void *arg)
{
    (void)base, (void)file;
    return dialled("openssh", target, ops, arg);
}

struct conn *conn_exec_new(struct event_base *base, const struct conn_target *target,
                           const struct agent_file *file, const struct conn_ops *ops, void *arg)
{
    (void)base, (void)file;
    return dialled("exec", target, ops, arg);
}

void orphan_cleanup_start(struct node *of, const char *run_id, orphan_cleanup_over_cb *over,
                          void *arg)
{
    (void)run_id;
    assert_ptr_equal(arg, &run);
    told("clean %s;", of->plan->host);
    in_cleanup = of;
    cleanup_is_over = over;
}

void stacks_node_left(struct run *of, const struct node *which)
{
    assert_ptr_equal(of, &run);
    has_left[which->index] = true;
}

void orphan_cleanup_end(struct node *of)
{
    (void)of;
}

/* --- the plan --------------------------------------------------------------- */

int plan_encode(const struct plan *of, size_t which, const struct options *by,
                const struct plan_terms *with, struct evbuffer *out, struct error *err)
{
    const char *host = of->node[which].host;
    size_t      i;

    assert_ptr_equal(by, &options);
    if (refused == PLAN_TOO_LARGE)
        return err_set(err, "too large");
    told("plan %s of %zu: credit %u;", host, of->nodes, with->credit);
    for (i = 0; i < HOSTS && host != names[i]; i++)
        ;
    terms[i] = (struct terms){ with->generation,        with->window_s,  with->replace_s,
                               with->socket[0] != '\0', with->is_shared, with->is_local,
                               with->is_check,          with->stays };
    frame_put_json(out, FRAME_PLAN, with->generation, 0, json_object());
    return 0;
}

void plan_go_env(const struct plan *of, size_t which, struct strlist *env)
{
    (void)of, (void)which, (void)env;
}

bool *shared_machine_find(struct node *const *of, size_t count)
{
    bool  *shared = xcalloc(count, sizeof(bool));
    size_t i;

    compared = (int)count;
    for (i = 0; i < count; i++)
        shared[i] = of[i] != NULL && is_one_machine && count > 1;
    return shared;
}

uint32_t flow_begin(struct flow *of, size_t which)
{
    (void)of;
    return 100 + (uint32_t)which;
}

/* --- the other parts of the run ----------------------------------------------- */

void agent_frames_take(struct node *of, const struct frame *frame, const json_t *body,
                       void *arg)
{
    (void)of, (void)frame, (void)body, (void)arg;
}

void heartbeat_tell_pause(struct run *of)
{
    if (of->phase.now == PHASE_RUNNING || of->phase.now == PHASE_RESTARTING)
        told("pause?;");
}

void costs_running(struct run *of)
{
    (void)of;
    told("costs;");
}

void costs_over(struct run *of, bool is_end)
{
    (void)of;
    assert_false(is_end);
    told("costs over;");
}

void deadline_start(struct run *of)
{
    (void)of;
    told("deadline;");
}

void deadline_stop(struct run *of, const struct plan *whose, double grace_s)
{
    (void)of;
    assert_ptr_equal(whose, world);
    told("deadline stop %g;", grace_s);
}

void run_changed(struct run *of)
{
    (void)of;
    looks++;
}

bool run_goes_on(const struct run *of)
{
    (void)of;
    return goes_on;
}

bool run_may_restart(const struct run *of)
{
    (void)of;
    return may_restart;
}

const char *run_phase_name(enum phase_now phase)
{
    (void)phase;
    return "";
}

void generation_lost_node(struct run *of, const struct node *which)
{
    (void)of;
    told("lost %s;", which->plan->host);
}

bool pool_end(struct run *of)
{
    (void)of;
    told("end?;");
    return pool_is_gone;
}

size_t pool_nodes(const struct run *of)
{
    (void)of;
    return HOSTS;
}

struct node *pool_node(const struct run *of, size_t number)
{
    (void)of;
    return number == 0 ? NULL : &node[number];
}

void rendezvous_ask(struct run *of, struct node *which)
{
    (void)of;
    told("ask %s;", which->plan->host);
}

bool rendezvous_ask_again(struct run *of)
{
    bool again = asks_again;

    (void)of;
    told("ask again?;");
    asks_again = false;
    return again;
}

int rendezvous_choose(struct run *of)
{
    (void)of;
    told("choose;");
    return refused == NO_PLACE ? -1 : 0;
}

void rendezvous_without(struct run *of, const struct node *which)
{
    (void)of;
    if (which->index == 0)
        told("no first;");
}

bool rendezvous_ask_next(struct run *of)
{
    (void)of;
    return false;
}

void run_status_beat(struct run *of)
{
    (void)of;
    told("status;");
}

void start_check_clocks(const struct run *of)
{
    (void)of;
    told("clocks;");
}

bool start_check_hello(const struct run *of, struct node *which)
{
    (void)of;
    told("hello %s;", which->plan->host);
    if (refused != (int)which->index)
        return true;
    node_fail(which, "check", EXIT_CREATE, "update it", "too old");
    return false;
}

void start_check_nodes(struct run *of)
{
    (void)of;
    told("check nodes;");
}

void output_progress(struct output *of, const char *text)
{
    (void)of, (void)text;
}

/* --- the run ---------------------------------------------------------------- */

int progress_fixture_begin(void **state)
{
    size_t i;

    (void)state;
    run_fixture_begin();
    goes_on = may_restart = asks_again = is_one_machine = false;
    pool_is_gone = true;
    world = &plan;
    refused = NOTHING;
    looks = compared = 0;
    memset(terms, 0, sizeof terms);
    options = (struct options){
        .grace_s = 30, .fanout = 8, .connect_timeout_s = 10, .reconnect_s = OPTION_AUTO
    };
    plan.run_id = (char *)"r";
    for (i = 0; i < HOSTS; i++) {
        node[i].ops = &progress_node_ops;
        plan_node[i].node_rank = (int)i;
    }
    for (i = 0; i < NODES; i++) {
        node[i].conn = NULL;
        node[i].state = NODE_WAITING;
    }
    run.node = all;
    outcome_init(&run.outcome, &plan);
    phase_begin(&run);
    return 0;
}

void three_places(void)
{
    outcome_clear(&run.outcome);
    phase_clear(&run);
    plan.nodes = plan.world_size = HOSTS;
    node[2].conn = NULL;
    node[2].state = NODE_WAITING;
    outcome_init(&run.outcome, &plan);
    phase_begin(&run);
}

int progress_fixture_end(void **state)
{
    (void)state;
    run_fixture_end();
    phase_clear(&run);
    outcome_clear(&run.outcome);
    return 0;
}

struct fake_conn *agent(size_t which)
{
    size_t i = fakes_made;

    while (i-- > 0)
        if (fakes[i].conn.arg == &node[which])
            return &fakes[i];
    fail_msg("%s has no agent", names[which]);
    return NULL;
}

void answers(size_t which)
{
    node[which].liveness.heard_ns = 1;
    node_enter(&node[which], NODE_GREETING, 0);
    node_enter(&node[which], NODE_ANSWERED, 0);
}

static void forget(void)
{
    size_t i;

    looks = 0;
    memset(has_left, 0, sizeof has_left);
    forget_told();
    for (i = 0; i < NODES; i++)
        while (sent(i) != NULL)
            ;
}

void prepared(void)
{
    phase_connect(&run);
    answers(0);
    answers(1);
    assert_int_equal(run.phase.now, PHASE_PREPARING);
    forget();
}

void running(void)
{
    prepared();
    node_enter(&node[0], NODE_READY, 0);
    node_enter(&node[1], NODE_READY, 0);
    assert_int_equal(run.phase.now, PHASE_RUNNING);
    forget();
}

void stays(size_t which)
{
    node_stay(&node[which]);
    forget();
}

void all_stay(void)
{
    goes_on = true;
    running();
    stays(0);
    stays(1);
}

void cleaned(const char *text)
{
    const struct orphan_cleanup_result result = { .ended = 1, .text = text };

    forget_told();
    cleanup_is_over(in_cleanup, &result, &run);
}

const char *sent(size_t which)
{
    struct evbuffer *frames = agent(which)->to_agent;
    struct frame     frame;
    struct error     err;
    const char      *name;

    while (frame_peek(frames, &frame, &err) == 1) {
        name = frame_name(frame.type);
        frame_drop(frames, &frame);
        if (strcmp(name, frame_name(FRAME_PING)) != 0)
            return name;
    }
    return NULL;
}

void expect_sent(size_t which, enum frame_type type)
{
    const char *name = sent(which);

    assert_non_null(name);
    assert_string_equal(name, frame_name(type));
}
