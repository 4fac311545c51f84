/* task_frames.c - TASK: the tasks that exist, and the lines that they print
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include "bootstrap/bootstrap.h"
#include "doctor/checkup.h"
#include "exit_code.h"

static json_t *with_list(const struct agent *agent, const json_t *body);
static int  echo(const json_t *request, struct task_output *out);
static void line_cb(json_t *body, void *arg);
static void end_cb(json_t *body, void *arg);

static const struct task_row tasks[] = {
    { "doctor", checkup_run },
    { "echo", echo },
    { "bootstrap", bootstrap_task },
    { NULL, NULL },
};

int task_frames_take(struct agent *agent, const struct frame *frame, const json_t *body,
                     struct error *err)
{
    static const struct task_ops ops = { line_cb, end_cb };
    struct task_request          request;
    struct failure               failure = { .code = EXIT_INTERNAL };
    json_t                      *whole;

    (void)frame;
    if (agent->task != NULL && !task_is_over(agent->task))
        return err_set(err, "TASK frame before the end of the last one");
    if (task_request_read(&request, body, tasks, err) < 0)
        return -1;
    task_frames_end(agent);
    whole = with_list(agent, body);
    blobs_clear(&agent->blobs);
    agent->task = task_begin(agent->base, &request, whole, &ops, agent, &failure.why);
    json_decref(whole);
    if (agent->task == NULL)
        agent_fail(agent, "task", &failure);
    return 0;
}

/* A list may have names in any encoding: its string is not UTF-8, and never printed. */
static json_t *with_list(const struct agent *agent, const json_t *body)
{
    json_t            *whole = json_copy((json_t *)body), *id = json_object_get(whole, "list");
    const struct blob *blob = NULL;

    if (json_is_integer(id) && json_integer_value(id) >= 0 &&
        json_integer_value(id) <= UINT32_MAX)
        blob = blobs_find(&agent->blobs, (uint32_t)json_integer_value(id));
    if (blob != NULL)
        json_object_set_new_nocheck(whole, "list",
                                    json_stringn_nocheck(blob->bytes, blob->size));
    return whole;
}

void task_frames_end(struct agent *agent)
{
    task_free(agent->task);
    agent->task = NULL;
}

/* Flushes the line a little later: if the link were lost now, that would
 * end the task that calls us. */
static void line_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_TASK_LINE, 0, body);
    link_ask_room(&agent->link);
}

static void end_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_TASK_END, 0, body);
    link_ask_room(&agent->link);
}

/* A task for tests of tasks. */
static int echo(const json_t *request, struct task_output *out)
{
    task_output_line(out, json_deep_copy(request));
    return 0;
}
