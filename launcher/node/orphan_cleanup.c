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
#include "node/node.h"
#include "xalloc.h"
#include "xevent.h"

/* A process whose parent, or whose namespace's first process, was killed is gone after this
 * time. */
#define MOMENT_S  0.1
#define NAMED_MAX 4 /* processes named per node; an agent may send any number */

enum cleanup_state { CLEANUP_BEGUN, CLEANUP_ASKED, CLEANUP_ANSWERED };

struct orphan_cleanup {
    struct node            *node;
    char                   *run_id;
    orphan_cleanup_over_cb *over;
    void                   *arg;
    enum cleanup_state      state;
    struct conn            *conn;
    struct event           *timer; /* first starts the cleanup from the loop, then limits its
                                      time */
    int                     ended, left;
    char                    text[1200];
};

static void    timer_cb(evutil_socket_t fd, short what, void *arg);
static void    take(struct orphan_cleanup *cleanup, const struct frame *frame);
static json_t *request(const struct orphan_cleanup *cleanup);
static void    send_frame(struct orphan_cleanup *cleanup, enum frame_type type, json_t *body);
static void    take_found(struct orphan_cleanup *cleanup, const json_t *body);
static void    name_some(const json_t *processes, bool gone, char *text, size_t size);
static void    finish(struct orphan_cleanup *cleanup);

void orphan_cleanup_start(struct node *node, const char *run_id, orphan_cleanup_over_cb *over,
                          void *arg)
{
    const struct timeval   now = { 0 };
    struct orphan_cleanup *cleanup = node->cleanup = xcalloc(1, sizeof *cleanup);

    *cleanup = (struct orphan_cleanup){ .node = node, .run_id = xstrdup(run_id), .over = over,
                                        .arg = arg, .ended = -1, .left = -1 };
    snprintf(cleanup->text, sizeof cleanup->text, "not checked: no answer within %g s",
             ORPHAN_CLEANUP_S);
    cleanup->timer = evtimer_new(node->base, timer_cb, cleanup);
    if (cleanup->timer == NULL)
        xalloc_die();
    xevent_add(cleanup->timer, &now);
}

void orphan_cleanup_end(struct node *node)
{
    struct orphan_cleanup *cleanup = node->cleanup;

    if (cleanup == NULL)
        return;
    node->cleanup = NULL;
    if (cleanup->conn != NULL)
        conn_free(cleanup->conn);
    event_free(cleanup->timer);
    free(cleanup->run_id);
    free(cleanup);
}

/* ---- the connection ---- */

static void conn_stage(const char *stage, void *arg)
{
    struct orphan_cleanup *cleanup = arg;

    log_debug("%s: cleaning up: %s", cleanup->node->plan->host, stage);
}

static void conn_open(void *arg)
{
    (void)arg; /* HELLO says when the agent can be asked */
}

static void conn_input(struct evbuffer *in, void *arg)
{
    struct orphan_cleanup *cleanup = arg;
    struct frame           frame;
    struct error           err;
    int                    got;

    while ((got = frame_peek(in, &frame, &err)) > 0) {
        take(cleanup, &frame);
        frame_drop(in, &frame);
    }
    if (got == 0)
        return;
    snprintf(cleanup->text, sizeof cleanup->text, "not checked: protocol: %s", err.text);
    finish(cleanup);
}

static void conn_closed(const struct conn_failure *why, void *arg)
{
    struct orphan_cleanup *cleanup = arg;

    if (cleanup->state != CLEANUP_ANSWERED)
        snprintf(cleanup->text, sizeof cleanup->text, "not checked: %s: %s",
                 why != NULL ? why->stage : "agent",
                 why != NULL ? why->text : "it exited at once");
    finish(cleanup);
}

static const struct conn_ops conn_ops = {
    .stage = conn_stage,
    .open = conn_open,
    .input = conn_input,
    .closed = conn_closed,
};

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval   limit = clock_interval(ORPHAN_CLEANUP_S);
    struct orphan_cleanup *cleanup = arg;
    struct node           *node = cleanup->node;

    (void)fd, (void)what;
    if (cleanup->conn != NULL) {
        finish(cleanup);
        return;
    }
    log_info("%s: looking for processes that the run has left there", node->plan->host);
    xevent_add(cleanup->timer, &limit);
    cleanup->conn = node->ops->dial(node, &conn_ops, cleanup, node->arg);
    conn_start(cleanup->conn);
}

/* ---- the frames ---- */

static void take(struct orphan_cleanup *cleanup, const struct frame *frame)
{
    json_t      *body;
    const char  *text;
    struct error err;

    if (frame->type == FRAME_HELLO && cleanup->state == CLEANUP_BEGUN) {
        cleanup->state = CLEANUP_ASKED;
        send_frame(cleanup, FRAME_CLEAN, request(cleanup));
    } else if (frame->type == FRAME_CLEANED && cleanup->state == CLEANUP_ASKED) {
        cleanup->state = CLEANUP_ANSWERED;
        body = frame_json(frame, &err);
        take_found(cleanup, body);
        json_decref(body);
        send_frame(cleanup, FRAME_STOP, json_pack("{s:f}", "grace_s", 0.0));
    } else if (frame->type == FRAME_ERROR && cleanup->state == CLEANUP_ASKED) {
        cleanup->state = CLEANUP_ANSWERED;
        body = frame_json(frame, &err);
        text = json_string_value(json_object_get(body, "text"));
        snprintf(cleanup->text, sizeof cleanup->text, "not checked: %s",
                 text != NULL ? text : "?");
        json_decref(body);
    }
}

static json_t *request(const struct orphan_cleanup *cleanup)
{
    const json_t *hello = cleanup->node->hello;

    return json_pack("{s:b, s:b, s:f, s:s, s:{s:O*, s:O*}}", "kill", true, "orphans", true,
                     "grace_s", MOMENT_S, "run", cleanup->run_id, "agent",
                     "pid", json_object_get(hello, "pid"),
                     "start", json_object_get(hello, "start"));
}

static void send_frame(struct orphan_cleanup *cleanup, enum frame_type type, json_t *body)
{
    struct evbuffer *out = evbuffer_new();

    if (out == NULL)
        xalloc_die();
    frame_put_json(out, type, cleanup->node->generation, 0, body);
    conn_write(cleanup->conn, out);
    evbuffer_free(out);
}

static void take_found(struct orphan_cleanup *cleanup, const json_t *body)
{
    const json_t *processes = json_object_get(body, "processes"), *process;
    char          names[1000];
    size_t        i;

    if (!json_is_array(processes)) {
        snprintf(cleanup->text, sizeof cleanup->text, "not checked: malformed answer");
        return;
    }
    cleanup->ended = cleanup->left = 0;
    json_array_foreach(processes, i, process)
        if (json_is_true(json_object_get(process, "gone")))
            cleanup->ended++;
        else
            cleanup->left++;
    name_some(processes, cleanup->left == 0, names, sizeof names);
    if (cleanup->left > 0)
        snprintf(cleanup->text, sizeof cleanup->text,
                 "%d processes of the run could not be killed: %s", cleanup->left, names);
    else if (cleanup->ended > 0)
        snprintf(cleanup->text, sizeof cleanup->text,
                 "%d processes of the run had to be killed: %s", cleanup->ended, names);
    else
        snprintf(cleanup->text, sizeof cleanup->text, "nothing of the run was left");
}

/* Writes "pid 12 (sleep 60), pid 13 (python3 x.py) ..." to text. */
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

/* Frees the cleanup before it calls over, which may end the run. */
static void finish(struct orphan_cleanup *cleanup)
{
    struct orphan_cleanup        had = *cleanup;
    struct orphan_cleanup_result result = { had.ended, had.left, had.text };

    orphan_cleanup_end(had.node);
    had.over(had.node, &result, had.arg);
}
