/* orphan_cleanup.c - see orphan_cleanup.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/orphan_cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "strlist.h"
#include "xalloc.h"
#include "xevent.h"

/* What had its parent killed, or the first process of its namespace, is gone after that. */
#define MOMENT_S  0.1
#define NAMED_MAX 4 /* processes named of a node; an agent may send any number */

enum sweep_state { SWEEP_BEGUN, SWEEP_ASKED, SWEEP_ANSWERED };

struct sweep {
    struct node            *node;
    const char             *run_id;
    const struct sweep_ops *ops;
    void                   *arg;
    enum sweep_state        state;
    struct conn            *conn;
    struct event           *timer; /* to begin in a fresh turn of the loop; then the limit */
    int                     ended, left;
    char                    text[1200];
};

static void timer_cb(evutil_socket_t fd, short what, void *arg);
static void take(struct sweep *sweep, const struct frame *frame);
static json_t *request(const struct sweep *sweep);
static void send_frame(struct sweep *sweep, enum frame_type type, json_t *body);
static void take_found(struct sweep *sweep, const json_t *body);
static void name_some(const json_t *processes, bool gone, char *text, size_t size);
static void end(struct sweep *sweep);

struct sweep *sweep_start(struct node *node, const char *run_id, const struct sweep_ops *ops,
                          void *arg)
{
    const struct timeval now = { 0 };
    struct sweep        *sweep = xcalloc(1, sizeof *sweep);

    *sweep = (struct sweep){ .node = node, .run_id = run_id, .ops = ops, .arg = arg,
                             .ended = -1, .left = -1 };
    snprintf(sweep->text, sizeof sweep->text, "not looked for: no answer within %g s", SWEEP_S);
    sweep->timer = evtimer_new(node->base, timer_cb, sweep);
    if (sweep->timer == NULL)
        xalloc_die();
    xevent_add(sweep->timer, &now);
    return sweep;
}

void sweep_free(struct sweep *sweep)
{
    if (sweep == NULL)
        return;
    if (sweep->conn != NULL)
        conn_free(sweep->conn);
    event_free(sweep->timer);
    free(sweep);
}

/* ---- the connection ---- */

static void conn_stage(const char *stage, void *arg)
{
    struct sweep *sweep = arg;

    log_debug("%s: sweeping: %s", sweep->node->plan->host, stage);
}

static void conn_open(void *arg)
{
    (void)arg; /* its HELLO says when it can be asked */
}

static void conn_input(struct evbuffer *in, void *arg)
{
    struct sweep *sweep = arg;
    struct frame  frame;
    struct error  err;
    int           got;

    while ((got = frame_peek(in, &frame, &err)) > 0) {
        take(sweep, &frame);
        frame_drop(in, &frame);
    }
    if (got == 0)
        return;
    snprintf(sweep->text, sizeof sweep->text, "not looked for: protocol: %s", err.text);
    end(sweep);
}

static void conn_closed(const struct conn_failure *why, void *arg)
{
    struct sweep *sweep = arg;

    if (sweep->state != SWEEP_ANSWERED)
        snprintf(sweep->text, sizeof sweep->text, "not looked for: %s: %s",
                 why != NULL ? why->stage : "agent", why != NULL ? why->text : "it left at once");
    end(sweep);
}

static const struct conn_ops conn_ops = {
    .stage = conn_stage,
    .open = conn_open,
    .input = conn_input,
    .closed = conn_closed,
};

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval limit = clock_interval(SWEEP_S);
    struct sweep        *sweep = arg;
    struct node         *node = sweep->node;

    (void)fd, (void)what;
    if (sweep->conn != NULL) {
        end(sweep);
        return;
    }
    log_info("%s: looking for what the run has left there", node->plan->host);
    xevent_add(sweep->timer, &limit);
    sweep->conn = node->ops->dial(node, &conn_ops, sweep, node->arg);
    conn_start(sweep->conn);
}

/* ---- what is said ---- */

static void take(struct sweep *sweep, const struct frame *frame)
{
    json_t      *body;
    const char  *text;
    struct error err;

    if (frame->type == FRAME_HELLO && sweep->state == SWEEP_BEGUN) {
        sweep->state = SWEEP_ASKED;
        send_frame(sweep, FRAME_CLEAN, request(sweep));
    } else if (frame->type == FRAME_CLEANED && sweep->state == SWEEP_ASKED) {
        sweep->state = SWEEP_ANSWERED;
        body = frame_json(frame, &err);
        take_found(sweep, body);
        json_decref(body);
        send_frame(sweep, FRAME_STOP, json_pack("{s:f}", "grace_s", 0.0));
    } else if (frame->type == FRAME_ERROR && sweep->state == SWEEP_ASKED) {
        sweep->state = SWEEP_ANSWERED;
        body = frame_json(frame, &err);
        text = json_string_value(json_object_get(body, "text"));
        snprintf(sweep->text, sizeof sweep->text, "not looked for: %s", text != NULL ? text : "?");
        json_decref(body);
    }
}

static json_t *request(const struct sweep *sweep)
{
    const json_t *hello = sweep->node->hello;

    return json_pack("{s:b, s:b, s:f, s:s, s:{s:O*, s:O*}}", "kill", true, "orphans", true,
                     "grace_s", MOMENT_S, "run", sweep->run_id, "agent",
                     "pid", json_object_get(hello, "pid"),
                     "start", json_object_get(hello, "start"));
}

static void send_frame(struct sweep *sweep, enum frame_type type, json_t *body)
{
    struct evbuffer *out = evbuffer_new();

    if (out == NULL)
        xalloc_die();
    frame_put_json(out, type, sweep->node->generation, 0, body);
    conn_write(sweep->conn, out);
    evbuffer_free(out);
}

static void take_found(struct sweep *sweep, const json_t *body)
{
    const json_t *processes = json_object_get(body, "processes"), *process;
    char          names[1000];
    size_t        i;

    if (!json_is_array(processes)) {
        snprintf(sweep->text, sizeof sweep->text, "not looked for: the answer makes no sense");
        return;
    }
    sweep->ended = sweep->left = 0;
    json_array_foreach(processes, i, process)
        if (json_is_true(json_object_get(process, "gone")))
            sweep->ended++;
        else
            sweep->left++;
    name_some(processes, sweep->left == 0, names, sizeof names);
    if (sweep->left > 0)
        snprintf(sweep->text, sizeof sweep->text,
                 "%d of the run's processes have not ended: %s", sweep->left, names);
    else if (sweep->ended > 0)
        snprintf(sweep->text, sizeof sweep->text, "%d of the run's processes had to be ended: %s",
                 sweep->ended, names);
    else
        snprintf(sweep->text, sizeof sweep->text, "nothing of the run was left");
}

/* "pid 12 (sleep 60), pid 13 (python3 x.py) ..." */
static void name_some(const json_t *processes, bool gone, char *text, size_t size)
{
    const json_t *process;
    const char   *command;
    size_t        i, used = 0;
    int           named = 0;

    text[0] = '\0';
    json_array_foreach(processes, i, process) {
        if (json_is_true(json_object_get(process, "gone")) != gone)
            continue;
        if (named++ == NAMED_MAX) {
            snprintf(text + used, size - used, " ...");
            return;
        }
        command = json_string_value(json_object_get(process, "command"));
        used += (size_t)snprintf(text + used, size - used, "%spid %lld (%.100s)",
                                 named > 1 ? ", " : "",
                                 (long long)json_integer_value(json_object_get(process, "pid")),
                                 command != NULL ? command : "?");
    }
}

/* The last call into ops: it frees sweep. */
static void end(struct sweep *sweep)
{
    sweep->ops->over(sweep->node, sweep->ended, sweep->left, sweep->text, sweep->arg);
}
