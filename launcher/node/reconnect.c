/* reconnect.c - see reconnect.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/reconnect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "exit_code.h"
#include "log.h"
#include "node/draining.h"
#include "node/node.h"
#include "transport/nonce.h"
#include "xalloc.h"
#include "xevent.h"

/* The pause between attempts. The first attempt comes at once: the agent may wait only a
 * second. */
#define PAUSE_FIRST_S 0.3
#define PAUSE_MOST_S  1.0
/* The time from open to RESUMED: two small frames each way, but the line may be slow. An agent
 * that has taken RECONNECT is lost if we give up. */
#define ANSWER_S 15.0

struct reconnect {
    struct node         *node;
    struct reconnect_key key;
    int64_t              cut_ns;        /* when the connection was lost; 0: it is not */
    char                 cut_why[1024]; /* as in conn_failure */
    bool                 is_relayed;    /* the connection leads to a second agent */

    /* The attempts: */
    bool          is_trying;
    struct conn  *conn;  /* NULL in a pause */
    struct event *timer; /* the pause, or the deadline of the answer */
    double        pause_s;
    bool          has_asked;      /* RECONNECT was sent */
    bool          may_have_moved; /* RECONNECT was sent, in this attempt or an earlier one */
    bool          answers;        /* the last attempt got far enough to send RECONNECT */
    char          why[1100];      /* how the last attempt ended, with its stage */
};

static bool can_begin(const struct reconnect *r);
static void begin(struct reconnect *r);
static void timer_cb(evutil_socket_t fd, short what, void *arg);
static void dial(struct reconnect *r);
static void give_up(struct reconnect *r);
static bool take(struct reconnect *r, const struct frame *frame, struct evbuffer *in);
static void ask(struct reconnect *r);
static void refused(struct reconnect *r, const json_t *body);
static void resumed(struct reconnect *r, const struct frame *frame, const json_t *body,
                    struct evbuffer *in);
static void move_over(struct reconnect *r, uint64_t sent_again, struct evbuffer *in);

struct reconnect *reconnect_new(struct node *node)
{
    struct reconnect *r = xcalloc(1, sizeof *r);

    r->node = node;
    r->timer = evtimer_new(node->base, timer_cb, r);
    if (r->timer == NULL)
        xalloc_die();
    return r;
}

void reconnect_free(struct reconnect *r)
{
    if (r == NULL)
        return;
    reconnect_stop(r);
    event_free(r->timer);
    free(r);
}

void reconnect_make_key(struct reconnect *r, const char *run_id, int node_rank)
{
    struct reconnect_key *key = &r->key;
    char                  name[FRAME_NONCE_CHARS + 1];

    key->socket[0] = '\0';
    if (nonce_make(name) == 0 && nonce_make(key->token) == 0)
        snprintf(key->socket, sizeof key->socket, "muster-%s-%d-%.16s", run_id, node_rank, name);
}

const struct reconnect_key *reconnect_key(const struct reconnect *r)
{
    return &r->key;
}

bool reconnect_is_cut(const struct reconnect *r)
{
    return r->cut_ns != 0;
}

bool reconnect_has_asked(const struct reconnect *r)
{
    return r->has_asked;
}

bool reconnect_may_have_moved(const struct reconnect *r)
{
    return r->may_have_moved;
}

bool reconnect_answers(const struct reconnect *r)
{
    return !r->is_trying || r->answers;
}

const char *reconnect_cut_why(const struct reconnect *r)
{
    return r->cut_why;
}

const char *reconnect_why(const struct reconnect *r)
{
    return r->why;
}

/* ---- when to reconnect ---- */

/* While PLAN may still be in flight, the second agent would not find the first one. */
void reconnect_beside(struct reconnect *r)
{
    if (can_begin(r) && r->node->state >= NODE_READY)
        begin(r);
}

/* If the connection leads to a second agent, its end does not mean that the first agent is
 * gone: the second one may have died alone. And a first agent that got RECONNECT from another
 * one may have left this connection. */
bool reconnect_instead(struct reconnect *r, const struct conn_failure *why)
{
    if (!can_begin(r) || !(why->is_cut || r->is_relayed || r->may_have_moved))
        return false;
    r->cut_ns = clock_now_ns();
    snprintf(r->cut_why, sizeof r->cut_why, "%s", why->text);
    log_warn("%s: connection lost, reconnecting (%s)", r->node->plan->host, r->cut_why);
    begin(r);
    return true;
}

/* Once it has PLAN, the agent recognizes us when we reconnect. */
static bool can_begin(const struct reconnect *r)
{
    return r->key.socket[0] != '\0' && r->node->state >= NODE_PREPARING &&
           r->node->state <= NODE_STAYING;
}

static void begin(struct reconnect *r)
{
    const struct timeval now = { 0 };

    if (r->is_trying)
        return;
    r->is_trying = true;
    r->answers = false;
    r->pause_s = PAUSE_FIRST_S;
    snprintf(r->why, sizeof r->why, "no answer yet");
    xevent_add(r->timer, &now); /* in the next turn of the loop */
}

/* The connection may lead to a second agent, which is no longer needed: drain it. */
void reconnect_stop(struct reconnect *r)
{
    event_del(r->timer);
    if (r->conn != NULL)
        draining_add(r->conn);
    r->conn = NULL;
    r->is_trying = r->has_asked = r->may_have_moved = false;
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
    struct reconnect *r = arg;

    (void)fd, (void)what;
    if (r->conn == NULL) {
        dial(r);
        return;
    }
    snprintf(r->why, sizeof r->why, "the agent there did not answer within %g s", ANSWER_S);
    give_up(r);
}

/* ---- one attempt ---- */

static void conn_stage(const char *stage, void *arg)
{
    struct reconnect *r = arg;

    log_debug("%s: reconnecting: %s", r->node->plan->host, stage);
}

static void conn_open(void *arg)
{
    struct reconnect    *r = arg;
    const struct timeval limit = clock_interval(ANSWER_S);

    xevent_add(r->timer, &limit);
}

static void conn_input(struct evbuffer *in, void *arg)
{
    struct reconnect *r = arg;
    struct frame      frame;
    struct error      err;
    int               got;

    while ((got = frame_peek(in, &frame, &err)) > 0) {
        if (!take(r, &frame, in))
            return; /* in may be gone */
        frame_drop(in, &frame);
    }
    if (got < 0)
        node_fail(r->node, "protocol", EXIT_PROTOCOL, NULL, "reconnecting: %s", err.text);
}

static void conn_closed(const struct conn_failure *why, void *arg)
{
    struct reconnect *r = arg;

    if (why != NULL)
        snprintf(r->why, sizeof r->why, "%s: %s", why->stage, why->text);
    else
        snprintf(r->why, sizeof r->why, "the agent there exited at once");
    log_info("%s: reconnecting: %s", r->node->plan->host, r->why);
    r->answers = r->has_asked;
    give_up(r);
}

static const struct conn_ops conn_ops = {
    .stage = conn_stage,
    .open = conn_open,
    .input = conn_input,
    .closed = conn_closed,
};

static void dial(struct reconnect *r)
{
    r->conn = r->node->ops->dial(r->node, &conn_ops, r, r->node->arg);
    conn_start(r->conn);
}

/* Gives up this attempt; the next one follows after a pause. */
static void give_up(struct reconnect *r)
{
    struct timeval pause = clock_interval(r->pause_s);

    conn_free(r->conn);
    r->conn = NULL;
    r->has_asked = false;
    xevent_add(r->timer, &pause);
    r->pause_s = r->pause_s * 1.5 < PAUSE_MOST_S ? r->pause_s * 1.5 : PAUSE_MOST_S;
}

/* ---- received frames ---- */

/* False: the attempts have ended, with or without success. */
static bool take(struct reconnect *r, const struct frame *frame, struct evbuffer *in)
{
    struct error err;
    json_t      *body;

    if (frame->type == FRAME_PING || frame->type == FRAME_PONG)
        return true; /* the second agent sends these until it relays */
    if (frame->type == FRAME_HELLO && !r->has_asked) {
        ask(r);
        return true;
    }
    body = frame_json(frame, &err);
    if (body == NULL)
        node_fail(r->node, "protocol", EXIT_PROTOCOL, NULL, "reconnecting: %s", err.text);
    else if (frame->type == FRAME_RESUMED && r->has_asked)
        resumed(r, frame, body, in);
    else if (frame->type == FRAME_ERROR)
        refused(r, body);
    else
        node_fail(r->node, "protocol", EXIT_PROTOCOL, NULL, "reconnecting: %s frame",
                  frame_name(frame->type));
    json_decref(body);
    return false;
}

/* The node can be reached. From now on node.c ignores the old connection, if there still is
 * one, unless this attempt fails. */
static void ask(struct reconnect *r)
{
    struct evbuffer *out = evbuffer_new();
    struct node     *node = r->node;

    if (out == NULL)
        xalloc_die();
    r->has_asked = r->may_have_moved = r->answers = true;
    frame_put_json(out, FRAME_RECONNECT, node->generation, 0,
                   json_pack("{s:s, s:s, s:I}", "socket", r->key.socket, "token", r->key.token,
                             "received", (json_int_t)node->resend.taken));
    conn_write(r->conn, out);
    evbuffer_free(out);
}

/* Handles ERROR from either agent: no agent that we can reach owns the ranks there any more. */
static void refused(struct reconnect *r, const json_t *body)
{
    const char *text = json_string_value(json_object_get(body, "text"));

    snprintf(r->why, sizeof r->why, "%s", text != NULL ? text : "refused");
    r->answers = true;
    node_lose(r->node, "running", NULL, r->why);
}

static void resumed(struct reconnect *r, const struct frame *frame, const json_t *body,
                    struct evbuffer *in)
{
    struct node *node = r->node;
    json_int_t   received, theirs;
    struct error err;
    size_t       ours;

    if (json_unpack((json_t *)body, "{s:I, s:I}", "received", &received, "again", &theirs) < 0 ||
        received < 0 || theirs < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL,
                  "RESUMED frame: \"received\" or \"again\" is missing or impossible");
        return;
    }
    if (resend_queue_rewind(&node->resend, (uint64_t)received, &ours, &err) < 0) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "RESUMED frame: %s", err.text);
        return;
    }
    frame_drop(in, frame);
    move_over(r, (uint64_t)theirs + ours, in);
}

static void move_over(struct reconnect *r, uint64_t sent_again, struct evbuffer *in)
{
    struct node *node = r->node;
    struct conn *conn = r->conn;
    int64_t      since_ns = r->cut_ns != 0 ? r->cut_ns : node->liveness.heard_ns;

    r->conn = NULL;
    reconnect_stop(r);
    r->cut_ns = 0;
    r->is_relayed = true;
    log_warn("%s: reconnected after %.1f s, %" PRIu64 " bytes sent again", node->plan->host,
             (double)(clock_now_ns() - since_ns) / NS_PER_S, sent_again);
    node_resume(node, conn, in);
}
