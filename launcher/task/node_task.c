/* node_task.c - see node_task.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "task/node_task.h"

#include <stdlib.h>

#include "node/body.h"
#include "run/run.h"
#include "xalloc.h"

/* Time after the deadline of a task for the agent to kill the task and report it. */
#define LATE_S 10.0
/* Limit for nodes that wait for others. It is long, since each of the others has its own
 * deadline. */
#define WAIT_S 86400.0

struct round {
    json_t              *lines;
    struct node_task_end end;
};

/* The state of one node. */
struct asked {
    int          round;   /* round of its last task; -1: none yet */
    bool         waits;   /* its task has ended */
    bool         is_over; /* it gets no more tasks */
    size_t       bytes;   /* bytes of its lines in this round */
    struct round rounds[NODE_TASK_ROUNDS_MAX];
};

struct node_task {
    const struct node_task_ops *ops;
    struct asked               *asked;
    size_t                      nodes;
    int                         round;
};

static void ask(struct node_task *task, struct run *run, struct node *node);
static bool take_line(struct node_task *task, struct run *run, struct node *node,
                      const json_t *line);
static void take_end(struct asked *asked, const json_t *body);
static void next_round(struct node_task *task, struct run *run);

struct node_task *node_task_new(const struct run *run, const struct node_task_ops *ops)
{
    struct node_task *task = xcalloc(1, sizeof *task);
    size_t            i;

    task->ops = ops;
    task->nodes = run->plan->nodes;
    task->asked = xcalloc(task->nodes, sizeof *task->asked);
    for (i = 0; i < task->nodes; i++)
        task->asked[i].round = -1;
    return task;
}

void node_task_free(struct node_task *task)
{
    size_t i;
    int    round;

    if (task == NULL)
        return;
    for (i = 0; i < task->nodes; i++)
        for (round = 0; round < NODE_TASK_ROUNDS_MAX; round++)
            json_decref(task->asked[i].rounds[round].lines);
    free(task->asked);
    free(task);
}

void node_task_begin(struct node_task *task, struct run *run, struct node *node)
{
    ask(task, run, node);
    next_round(task, run);
}

/* Sends the node the task of its next round. */
static void ask(struct node_task *task, struct run *run, struct node *node)
{
    struct asked *asked = &task->asked[node->index];
    double        deadline_s = 0;
    int           round = asked->round + 1;
    json_t       *request =
        round < NODE_TASK_ROUNDS_MAX ? task->ops->request(run, node, round, &deadline_s) : NULL;

    if (request == NULL) {
        asked->is_over = true;
        node_enter(node, NODE_PROBED, 0);
        return;
    }
    json_object_set_new(request, "task", json_string(task->ops->task));
    json_object_set_new(request, "id", json_integer(round));
    json_object_set_new(request, "deadline_s", json_real(deadline_s));
    asked->round = round;
    asked->waits = false;
    asked->bytes = 0;
    asked->rounds[round].lines = json_array();
    if (node->state != NODE_PROBING)
        node_enter(node, NODE_PROBING, 0);
    node_expect(node, "the end of its task", deadline_s + LATE_S);
    node_send(node, FRAME_TASK, request);
}

bool node_task_frame(struct node_task *task, struct run *run, struct node *node,
                     const struct frame *frame, const json_t *body)
{
    struct asked *asked = &task->asked[node->index];
    const json_t *line = json_object_get(body, "line");

    if (frame->type != FRAME_TASK_LINE && frame->type != FRAME_TASK_END)
        return false;
    if (node->stop_ns != 0)
        return true; /* the frame crossed with our STOP */
    if (asked->round < 0 || asked->waits || asked->is_over ||
        body_int(body, "id", -1) != asked->round)
        return false;
    if (frame->type == FRAME_TASK_LINE)
        return json_is_object(line) && take_line(task, run, node, line);
    take_end(asked, body);
    node_expect(node, "the other nodes", WAIT_S);
    next_round(task, run);
    return true;
}

/* False: a line is beyond the limits that an agent must keep. */
static bool take_line(struct node_task *task, struct run *run, struct node *node,
                      const json_t *line)
{
    struct asked *asked = &task->asked[node->index];
    json_t       *lines = asked->rounds[asked->round].lines;

    asked->bytes += json_dumpb(line, NULL, 0, JSON_COMPACT);
    if (json_array_size(lines) == FRAME_TASK_LINES_MAX ||
        asked->bytes > 2 * FRAME_TASK_BYTES_MAX) /* our escapes may make a line longer than it
                                                    was */
        return false;
    json_array_append(lines, (json_t *)line);
    if (task->ops->line != NULL)
        task->ops->line(run, node, asked->round, line);
    return true;
}

static void take_end(struct asked *asked, const json_t *body)
{
    asked->rounds[asked->round].end = (struct node_task_end){
        .has_ended = true,
        .status = body_small_int(body, "status", -1, 255),
        .signal = body_small_int(body, "signal", 0, 127),
        .timed_out = json_is_true(json_object_get(body, "timed_out")),
        .dropped = body_small_int(body, "dropped", 0, 1 << 30),
    };
    asked->waits = true;
}

void node_task_over(struct node_task *task, struct run *run, struct node *node)
{
    if (task->asked[node->index].is_over)
        return;
    task->asked[node->index].is_over = true;
    next_round(task, run);
}

/* Begins the next round if no node is still working on its task. */
static void next_round(struct node_task *task, struct run *run)
{
    size_t i;
    int    round = task->round;

    if (run->phase.now == PHASE_STOPPING)
        return;
    for (i = 0; i < task->nodes; i++)
        if (!task->asked[i].is_over && (!task->asked[i].waits || task->asked[i].round < round))
            return;
    task->round++;
    for (i = 0; i < task->nodes; i++)
        if (!task->asked[i].is_over && task->asked[i].round == round)
            ask(task, run, run->node[i]);
}

const json_t *node_task_lines(const struct node_task *task, size_t node, int round)
{
    return task->asked[node].rounds[round].lines;
}

const struct node_task_end *node_task_ended(const struct node_task *task, size_t node, int round)
{
    return &task->asked[node].rounds[round].end;
}
