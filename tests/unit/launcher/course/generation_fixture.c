/* generation_fixture.c - see generation_fixture.h
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

#include "generation_fixture.h"

#include "clock.h"
#include "course/checkpoints.h"
#include "course/collective_watch.h"
#include "course/generation.h"
#include "course/metrics.h"
#include "course/role_restart.h"
#include "course/slow_nodes.h"
#include "course/world.h"
#include "exit_code.h"
#include "run/rank_keys.h"
#include "run/data_shards.h"
#include "run/deadline.h"
#include "run/hang.h"
#include "run/interrupt.h"
#include "run/notice.h"
#include "run/pool.h"
#include "run/rank_output.h"
#include "run/rendezvous.h"
#include "run/run_status.h"
#include "run/steps.h"
#include "run/spare.h"
#include "run/stacks.h"

struct member_rules rules;
bool                is_interrupted, is_late, has_hung, was_noticed, is_refused, is_ending;
const char         *change_due;
void (*on_connect)(void);
int forgotten;
bool knows_progress;

const struct node_ops spare_node_ops;

static struct plan_source source;

/* --- the others ------------------------------------------------------------- */

void metrics_restart(struct run *of, const struct plan *world, enum policy_end end)
{
    (void)of, (void)world, (void)end;
}

bool phase_is_over(const struct run *of)
{
    bool   may_follow = run_goes_on(of);
    size_t i;

    for (i = 0; i < of->plan->nodes; i++)
        if (of->node[i]->state == NODE_STAYING)
            may_follow = true;
        else if (of->node[i]->state < NODE_ENDED)
            return false;
    return may_follow && (of->phase.now == PHASE_RUNNING || of->phase.now == PHASE_STOPPING);
}

void phase_restart(struct run *of)
{
    of->phase.now = PHASE_RESTARTING;
    told("restart;");
}

void phase_prepare(struct run *of)
{
    of->phase.now = PHASE_PREPARING;
    told("prepare;");
}

void phase_leave(struct run *of)
{
    size_t i;

    for (i = 0; i < of->plan->nodes; i++)
        if (of->node[i]->state == NODE_STAYING)
            of->node[i]->state = NODE_DONE;
    told("leave;");
}

void phase_maybe_end(struct run *of)
{
    (void)of;
    told("maybe end;");
}

void phase_stop(struct run *of)
{
    of->phase.now = PHASE_STOPPING;
    told("stop;");
}

void world_open(struct run *of)
{
    of->rules.members = rules;
}

bool world_is_held(const struct run *of, const struct member_rules *by, size_t places)
{
    (void)of, (void)by, (void)places;
    return false;
}

int world_change(struct run *of, const struct member_rules *by, const size_t *world,
                 size_t places, struct error *err)
{
    size_t i;

    if (is_refused)
        return err_set(err, "there is no such world");
    told("world");
    for (i = 0; i < places; i++) {
        told(" %s", names[world[i]]);
        nodes[i] = &node[world[i]];
        node[world[i]].state = NODE_STAYING;
    }
    told(";");
    of->plan->nodes = places;
    membership_take(&members, by, world, places);
    return 0;
}

struct pool *pool_new(struct run *of, const struct node_ops *ops)
{
    (void)of;
    assert_ptr_equal(ops, &spare_node_ops);
    return NULL;
}

struct membership *pool_members(const struct run *of)
{
    (void)of;
    return &members;
}

const char *pool_name(const struct run *of, size_t which)
{
    (void)of;
    return names[which];
}

void pool_leave(struct run *of, size_t which)
{
    (void)of;
    told("%s leaves;", names[which]);
}

bool pool_is_ending(const struct run *of)
{
    (void)of;
    return is_ending;
}

void spare_connect(struct run *of, size_t which)
{
    (void)of;
    told("connect %s;", names[which]);
    if (on_connect != NULL)
        on_connect();
}

void rendezvous_again(struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    told("same place;");
}

void rendezvous_anew(struct run *of)
{
    (void)of;
    told("new place;");
}

const char *rendezvous_port_holder(const struct rendezvous *of, size_t *which)
{
    (void)of;
    *which = 0;
    return NULL;
}

void notice_end(struct run *of)
{
    (void)of;
    forgotten++;
    was_noticed = false;
    change_due = NULL;
}

void notice_take_back(struct run *of)
{
    (void)of;
    told("take back;");
    change_due = NULL;
}

void notice_leaves(struct run *of, size_t which, const struct departure *departure)
{
    (void)of;
    told("notice: %s leaves (%s);", names[which], departure->reason);
    was_noticed = true;
}

void notice_none_leaves(struct run *of)
{
    (void)of;
    told("notice: none leaves;");
    was_noticed = false;
}

void notice_change(struct run *of, double seconds, const char *hosts, const char *reason)
{
    (void)of;
    told("save in %g s, %s goes: %s;", seconds, hosts, reason);
    was_noticed = true;
}

const char *notice_change_due(const struct notice *of)
{
    (void)of;
    return change_due;
}

bool notice_was_given(const struct notice *of)
{
    (void)of;
    return was_noticed;
}

double notice_save_s(const struct run *of)
{
    (void)of;
    return 60;
}

bool interrupt_has_come(const struct run *of)
{
    (void)of;
    return is_interrupted;
}

bool deadline_has_passed(const struct deadline *of)
{
    (void)of;
    return is_late;
}

void deadline_reset(struct deadline *of)
{
    (void)of;
    forgotten++;
}

bool hang_is_over(const struct run *of)
{
    (void)of;
    return has_hung;
}

void hang_again(struct run *of)
{
    (void)of;
    forgotten++;
}

void stacks_again(struct run *of)
{
    (void)of;
    forgotten++;
}

void hang_report(const struct run *of, FILE *out)
{
    (void)of, (void)out;
}

void rank_output_again(struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    forgotten++;
}

void data_shards_again(struct run *of)
{
    (void)of;
    forgotten++;
}

void rank_keys_again(struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    forgotten++;
}

void run_status_again(struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    forgotten++;
}

void steps_again(struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    forgotten++;
}

int64_t steps_most(const struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    return 5;
}

const char *steps_form(const struct run *of, const struct plan *world)
{
    (void)of, (void)world;
    return "tqdm";
}

void checkpoints_again(struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    forgotten++;
}

void slow_nodes_again(struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    forgotten++;
}

void collective_watch_again(struct run *of, const struct plan *world)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    forgotten++;
}

const char *checkpoints_last(const struct run *of, const struct plan *world)
{
    (void)of, (void)world;
    return "save/latest";
}

void checkpoints_progress(const struct run *of, const struct plan *world,
                          struct policy_event *event)
{
    (void)of;
    assert_ptr_equal(world, &plan);
    event->is_progress_known = knows_progress;
}

void role_restart_open(struct run *of)
{
    (void)of;
}

void role_restart_close(struct run *of)
{
    (void)of;
}

void role_restart_look(struct run *of)
{
    (void)of;
}

void role_restart_again(struct run *of)
{
    (void)of;
    forgotten++;
}

void run_status_beat(struct run *of)
{
    (void)of;
}

/* --- the run ---------------------------------------------------------------- */

int generation_fixture_begin(void **state)
{
    (void)state;
    run_fixture_begin();
    rules = (struct member_rules){ 0 };
    is_interrupted = is_late = has_hung = was_noticed = is_refused = is_ending = false;
    change_due = NULL;
    on_connect = NULL;
    forgotten = 0;
    knows_progress = false;
    options.master_port = 29500;
    options.restart_delay_s = -1;
    options.dead_after_s = 15;
    plan.world_size = NODES;
    plan.node_count = NODES;
    plan.source = &source;
    plan.run_id = strdup("r");
    plan.stamp = strdup("r");
    return 0;
}

void begin(void)
{
    plan.max_restarts = options.max_restarts;
    generation_open(&run);
    outcome_init(&run.outcome, &plan);
    outcome_begun(&run.outcome);
    run.phase.go_ns = clock_now_ns();
}

int generation_fixture_end(void **state)
{
    (void)state;
    generation_close(&run);
    outcome_clear(&run.outcome);
    free(plan.run_id);
    free(plan.stamp);
    run_fixture_end();
    return 0;
}

void elastic(void)
{
    rules = (struct member_rules){ .goes_on = true, .is_elastic = true };
    options.members.grow_s = 1000;
    options.members.max_wait_s = 100;
}

void begin_restart(void)
{
    options.max_restarts = 1;
    options.restart_delay_s = 1000;
    begin();
    rank_ends(0, 3);
    over_then("restart;");
}

void restart_is_due(const char *what)
{
    run.policy.start_s = 0;
    look_then(what);
}

void rank_ends(int rank, int code)
{
    const int64_t         now_ns = clock_now_ns();
    const struct rank_end end = {
        .started = true, .ended = true, .code = code, .start_ns = now_ns, .end_ns = now_ns
    };

    outcome_rank_started(&run.outcome, rank, 100 + rank, now_ns);
    outcome_rank_ended(&run.outcome, rank, &end);
}

void node_is_lost(size_t which)
{
    node_fail(nodes[which], "running", EXIT_LOST, "", "silent");
    outcome_node_failed(&run.outcome, which, nodes[which]->failure, clock_now_ns());
}

void over_then(const char *what)
{
    size_t i;

    run.phase.stop_ns = clock_now_ns();
    for (i = 0; i < plan.nodes; i++)
        if (nodes[i]->state == NODE_RUNNING)
            nodes[i]->state = NODE_STAYING;
    look_then(what);
}

void look_then(const char *what)
{
    run_changed(&run);
    run_fixture_turn(0);
    expect_told(what);
}

void change_then(const char *reason, const char *what)
{
    change_due = reason;
    look_then(what);
}

void departs(size_t which, double left_s)
{
    assert_true(
        membership_depart(&members, which, DEPARTURE_CLOUD, "spot", clock_now_s(), left_s, 0));
}

void runs(void)
{
    size_t i;

    run.phase.now = PHASE_RUNNING;
    run.phase.go_ns = clock_now_ns();
    run.phase.stop_ns = 0;
    outcome_begun(&run.outcome);
    for (i = 0; i < plan.nodes; i++)
        nodes[i]->state = NODE_RUNNING;
}
