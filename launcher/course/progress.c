/* progress.c - see progress.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/progress.h"

#include <stdio.h>

#include "clock.h"
#include "course/agent_frames.h"
#include "course/generation.h"
#include "log.h"
#include "node/node_job.h"
#include "run/heartbeat.h"
#include "run/phase.h"
#include "run/rank_input.h"
#include "run/rendezvous.h"
#include "run/run.h"
#include "run/stacks.h"
#include "run/start_check.h"

static void has_answered(struct run *run, struct node *node);
static void end_job(struct run *run, struct node *node);
static void cleanup_over(struct node *node, const struct orphan_cleanup_result *result,
                         void *arg);
static void handshake_ended(struct run *run);
static void show_progress(struct run *run);
static void settle(struct run *run, struct node *node);
static void advance(struct run *run);
static void run_where_chosen(struct run *run);
static void advance_held(struct run *run);
static bool any_probing(const struct run *run);
static bool any_failed(const struct run *run);

static void node_changed(struct node *node, void *arg)
{
    struct run *run = arg;

    /* Between the phases agents are idle, and these pings are quick: they show how the clocks
     * differ, accurately enough to tell later which of two failures was first. */
    if (!run_is_exec(run) && node->state >= NODE_ANSWERED && node->state <= NODE_RUNNING)
        node_ping(node);
    switch (node->state) {
    case NODE_GREETING:
        handshake_ended(run);
        break;
    case NODE_ANSWERED:
        if (run->job != NULL)
            run->job->begin(run, node);
        else if (run_is_exec(run))
            phase_prepare_node(run, node);
        else
            has_answered(run, node);
        break;
    case NODE_PROBED:
        if (run->job != NULL)
            end_job(run, node);
        advance_held(run);
        break;
    case NODE_READY:
        if (run_is_exec(run) && run->phase.now != PHASE_STOPPING)
            phase_go(run, node);
        else if (run->phase.now == PHASE_RUNNING)
            run_changed(run); /* role_restart.c waits for it */
        else
            settle(run, node);
        break;
    case NODE_STAYING:
        run->phase.stayed[node->index] =
            run->phase.now != PHASE_RESTARTING && !phase_is_away(run, node);
        stacks_node_left(run, node);
        run_changed(run);
        break;
    case NODE_DONE:
        stacks_node_left(run, node);
        if (run->phase.now == PHASE_RUNNING && phase_is_away(run, node))
            phase_stop(run); /* something is left there: its role cannot start again */
        break;
    default: /* no other state is an answer */
        break;
    }
    rank_input_look(run, node);
    show_progress(run);
}

/* The node may get more questions, but only GO waits for those answers, not PLAN. */
static void has_answered(struct run *run, struct node *node)
{
    if (start_check_hello(run, node))
        rendezvous_ask(run, node);
    settle(run, node);
}

/* The node has done its job. */
static void end_job(struct run *run, struct node *node)
{
    node_expect(node, "its final report", run->options->grace_s + NODE_STOP_S);
    node_stop(node, 0);
}

static void node_stage(struct node *node, void *arg)
{
    (void)node;
    show_progress(arg);
}

/* A failed node counts as the answer that the phase awaits. */
static void node_over(struct node *node, void *arg)
{
    struct run *run = arg;
    bool        was_handshake = node->state == NODE_FAILED && node->liveness.heard_ns == 0;

    rank_input_look(run, node);
    stacks_node_left(run, node);
    if (node->state == NODE_FAILED && run_had_ended(run, node)) {
        log_warn("%s: lost after its ranks had exited (%s)", node->plan->host,
                 node->failure->text);
        phase_node_over(run);
        return;
    }
    if (node->state == NODE_FAILED) {
        heartbeat_tell_pause(run); /* the cause may be that muster did not run */
        outcome_node_failed(&run->outcome, node->index, node->failure, clock_now_ns());
    }
    if (node->state == NODE_FAILED && node->lost_agent)
        orphan_cleanup_start(node, run->plan->run_id, cleanup_over, run);
    else
        phase_node_over(run);
    if (was_handshake)
        handshake_ended(run);
    if (run->job != NULL && run->job->over != NULL)
        run->job->over(run, node);
    if (run->phase.over == run->plan->nodes && !run_goes_on(run))
        return;
    if (node->failure != NULL && run->phase.now == PHASE_RESTARTING)
        generation_lost_node(run, node);
    else if (node->failure != NULL && run->phase.now == PHASE_RUNNING)
        phase_stop(run);
    else if (node->failure != NULL) {
        rendezvous_without(run, node);
        settle(run, node);
        advance_held(run);
    }
}

/* Counts the node as over now that another agent has cleaned up there. */
static void cleanup_over(struct node *node, const struct orphan_cleanup_result *result,
                         void *arg)
{
    struct run *run = arg;

    log_info("%s: %s", node->plan->host, result->text);
    outcome_node_cleaned(&run->outcome, node->index, result->ended, result->left, result->text);
    phase_node_over(run);
}

static void handshake_ended(struct run *run)
{
    run->phase.handshakes--;
    phase_connect(run);
    show_progress(run);
}

/* "muster: connecting 3/8 (te5: authenticate)": names a node that has not answered yet. */
static void show_progress(struct run *run)
{
    struct phase      *phase = &run->phase;
    const struct node *slow;
    char               text[256];

    if (phase->now != PHASE_CONNECTING || run_is_exec(run))
        return;
    while (phase->first_slow < run->plan->nodes &&
           run->node[phase->first_slow]->state >= NODE_ANSWERED)
        phase->first_slow++;
    if (phase->first_slow == run->plan->nodes)
        return;
    slow = run->node[phase->first_slow];
    snprintf(text, sizeof text, "muster: connecting %zu/%zu (%s: %s)",
             phase->next - phase->awaited, run->plan->nodes, plan_label(slow->plan),
             slow->stage);
    output_progress(run->output, text);
}

/* A node has given its answer; after the last one the next phase begins. */
static void settle(struct run *run, struct node *node)
{
    struct phase *phase = &run->phase;

    if (!phase->awaits[node->index])
        return;
    phase->awaits[node->index] = false;
    if (--phase->awaited == 0 && phase->now < PHASE_RUNNING)
        advance(run);
}

static void advance(struct run *run)
{
    struct phase *phase = &run->phase;

    phase->is_held = any_failed(run) && any_probing(run);
    if (phase->is_held)
        return;
    if (phase->now == PHASE_CONNECTING)
        start_check_nodes(run);
    if (any_failed(run))
        phase_stop(run);
    else if (phase->now == PHASE_CONNECTING)
        phase_prepare(run);
    else if (!rendezvous_ask_again(run))
        run_where_chosen(run);
}

/* Starts the ranks, with the address at which the other nodes reach node 0, and with roles the
 * first node of each. */
static void run_where_chosen(struct run *run)
{
    if (rendezvous_choose(run) < 0)
        phase_stop(run);
    else if (!rendezvous_ask_next(run))
        phase_run(run);
}

static void advance_held(struct run *run)
{
    if (run->phase.is_held && run->phase.now < PHASE_RUNNING && !any_probing(run))
        advance(run);
}

static bool any_probing(const struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i]->state == NODE_PROBING)
            return true;
    return false;
}

static bool any_failed(const struct run *run)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i]->failure != NULL)
            return true;
    return false;
}

const struct node_ops progress_node_ops = {
    .changed = node_changed,
    .stage = node_stage,
    .frame = agent_frames_take,
    .over = node_over,
    .dial = phase_dial,
};
