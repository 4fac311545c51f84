/* spare.c - see spare.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/spare.h"

#include <stdio.h>
#include <string.h>

#include "log.h"
#include "node/body.h"
#include "run/costs.h"
#include "run/notice.h"
#include "run/phase.h"
#include "run/pool.h"
#include "run/run.h"
#include "run/start_check.h"

#define LEAVE_S 5.0 /* for an agent that must leave */

static void node_changed(struct node *node, void *arg);
static void check_hello(struct run *run, struct node *node);
static void node_stage(struct node *node, void *arg);
static void node_frame(struct node *node, const struct frame *frame, const json_t *body,
                       void *arg);
static void node_over(struct node *node, void *arg);
static void cleaned_cb(struct node *node, const struct orphan_cleanup_result *result,
                       void *arg);

const struct node_ops spare_node_ops = {
    .changed = node_changed,
    .stage = node_stage,
    .frame = node_frame,
    .over = node_over,
    .dial = phase_dial,
};

void spare_connect(struct run *run, size_t which)
{
    struct node *node = pool_make_node(run, which);

    if (node != NULL)
        node_connect(
            node, phase_conn(run, node, run->options->connect_timeout_s, &node_conn_ops, node));
}

static void node_changed(struct node *node, void *arg)
{
    struct run *run = arg;

    if (node->state >= NODE_ANSWERED && node->state <= NODE_READY)
        node_ping(node);
    switch (node->state) {
    case NODE_ANSWERED:
        costs_look(run);
        check_hello(run, node);
        break;
    case NODE_READY: /* that was the check: nothing must run there now */
        node_expect(node, "its final report", NODE_STOP_S);
        node_stop(node, 0);
        break;
    case NODE_STAYING:
        if (pool_is_ending(run) ||
            pool_members(run)->item[node->index].state == MEMBER_LEAVING) {
            node_leave(node, LEAVE_S);
            break;
        }
        log_info("%s: checked; it waits for a place", node->plan->host);
        pool_joined(run, node->index);
        break;
    default:
        break;
    }
}

static void check_hello(struct run *run, struct node *node)
{
    if (start_check_hello(run, node) && start_check_other(run, node))
        phase_check_node(run, node, pool_plan(run, node->index));
}

static void node_stage(struct node *node, void *arg)
{
    (void)node, (void)arg;
}

static void node_frame(struct node *node, const struct frame *frame, const json_t *body,
                       void *arg)
{
    struct run         *run = arg;
    struct conn_failure why = { .stage = "prepare" };

    if (frame->type == FRAME_READY && node->state == NODE_PREPARING && node->failure == NULL) {
        if (start_check_ready(run, node, body))
            node_enter(node, NODE_READY, 0);
    } else if (frame->type == FRAME_DONE && node->state >= NODE_PREPARING &&
               node->state <= NODE_STAYING) {
        if (json_is_true(json_object_get(body, "stays")) && node->failure == NULL)
            node_stay(node);
        else
            node_enter(node, NODE_DONE, LEAVE_S);
    } else if (frame->type == FRAME_NOTICE && node->failure == NULL) {
        notice_take(run, node, body);
    } else if (frame->type == FRAME_ERROR && node->failure == NULL) {
        if (strcmp(body_text(body, "stage"), "health") == 0)
            why.stage = CONN_HEALTH;
        why.exit_code = body_small_int(body, "code", EXIT_INTERNAL, 255);
        snprintf(why.text, sizeof why.text, "%s", body_text(body, "text"));
        snprintf(why.hint, sizeof why.hint, "%s", body_text(body, "hint"));
        node_give_up(node, &why, LEAVE_S + NODE_STOP_S);
    } else if (node->state < NODE_DONE && node->stop_ns == 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "%s frame: muster did not ask for it",
                  frame_name(frame->type));
    }
}

static void node_over(struct node *node, void *arg)
{
    struct run *run = arg;

    pool_over(run, node->index);
    if (node->state == NODE_FAILED && node->lost_agent)
        orphan_cleanup_start(node, run->plan->run_id, cleaned_cb, run);
    pool_tidy(run);
}

static void cleaned_cb(struct node *node, const struct orphan_cleanup_result *result, void *arg)
{
    log_info("%s: %s", node->plan->host, result->text);
    pool_tidy(arg);
}
