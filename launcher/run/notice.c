/* notice.c - see notice.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/costs.h"
#include "run/notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "node/body.h"
#include "number.h"
#include "run/generation.h"
#include "run/leaving.h"
#include "run/pool.h"
#include "run/run.h"
#include "xalloc.h"
#include "xevent.h"

#define REASON_SIZE 120
#define LEFT_MAX_S  86400.0 /* a longer time is refused */
#define SAVE_PART   (2.0 / 3) /* of --grace; the rest is for the ranks to exit */
#define MARGIN_S    20.0    /* a node's ranks must be gone this long before a cloud takes it */

/* A node that will leave, by name: its number may change. */
struct leaving {
    char   *host;
    char    reason[REASON_SIZE];
    int64_t deadline_ns, end_ns;
};

struct notice {
    struct run     *run;
    struct leaving *leaving;
    size_t          count;

    /* State of this generation. */
    int64_t told_ns;     /* when its ranks got the first notice; 0: they got none */
    int64_t deadline_ns; /* the earliest of the notices that they got */
    bool    is_written;

    struct leaving ending; /* the whole run must end; host NULL: it need not */
    struct event  *end;

    struct leaving change; /* this generation must end for another world; host NULL: no */
    struct event  *change_due;
};

static struct leaving *find(const struct notice *notice, const char *host);
static bool            note(struct notice *notice, const char *host, const char *reason,
                            double left_s, double margin_s);
static void            tell(struct run *run, const struct leaving *leaving);
static void            tell_node(struct node *node, const struct leaving *leaving, bool is_first);
static void            change_cb(evutil_socket_t fd, short what, void *arg);
static void            end_cb(evutil_socket_t fd, short what, void *arg);
static void            tell_missing(const struct notice *notice);
static void            may_be_back(struct run *run, const char *host, double at_s);
static void            drain(struct run *run, const char *host, double left_s);
static struct node    *node_of(const struct run *run, const char *host);
static double          seconds(int64_t from_ns, int64_t to_ns);

struct notice *notice_new(struct run *run)
{
    struct notice *notice = xcalloc(1, sizeof *notice);

    notice->run = run;
    notice->end = xevent_new(run->base, -1, end_cb, run);
    notice->change_due = xevent_new(run->base, -1, change_cb, run);
    return notice;
}

void notice_free(struct notice *notice)
{
    size_t i;

    if (notice == NULL)
        return;
    for (i = 0; i < notice->count; i++)
        free(notice->leaving[i].host);
    free(notice->leaving);
    free(notice->ending.host);
    free(notice->change.host);
    event_free(notice->end);
    event_free(notice->change_due);
    free(notice);
}

void notice_give(struct run *run, struct node *node, double left_s, double margin_s,
                 const char *reason)
{
    const char     *host = node->plan->host;
    struct leaving *leaving;

    if (!note(run->notice, host, reason, left_s, margin_s))
        return;
    leaving = find(run->notice, host);
    log_warn("%s leaves in %.0f s (%s)", plan_label(node->plan), left_s, reason);
    if (node_of(run, host) != node) {
        leaving_add(run, host, clock_now_ns(), reason);
        return;
    }
    leaving_add(run, host, leaving->end_ns, reason);
    if (run->phase.now == PHASE_RUNNING)
        tell(run, leaving);
}

/* False: it was known, and the new time is not earlier. */
static bool note(struct notice *notice, const char *host, const char *reason, double left_s,
                 double margin_s)
{
    const int64_t   now_ns = clock_now_ns();
    struct leaving *leaving = find(notice, host);
    int64_t         end_ns = now_ns + (int64_t)((left_s - margin_s) * NS_PER_S);

    if (leaving != NULL && end_ns >= leaving->end_ns)
        return false;
    if (leaving == NULL) {
        notice->leaving = xreallocarray(notice->leaving, notice->count + 1,
                                        sizeof *notice->leaving);
        leaving = &notice->leaving[notice->count++];
        leaving->host = xstrdup(host);
    }
    snprintf(leaving->reason, sizeof leaving->reason, "%s", reason);
    leaving->deadline_ns = now_ns + (int64_t)(left_s * NS_PER_S);
    leaving->end_ns = end_ns;
    return true;
}

static struct leaving *find(const struct notice *notice, const char *host)
{
    size_t i;

    for (i = 0; i < notice->count; i++)
        if (strcmp(notice->leaving[i].host, host) == 0)
            return &notice->leaving[i];
    return NULL;
}

void notice_forget(struct notice *notice, const char *host)
{
    struct leaving *leaving = find(notice, host);

    if (leaving == NULL)
        return;
    free(leaving->host);
    *leaving = notice->leaving[--notice->count];
}

void notice_keep(struct run *run, const char *host)
{
    struct notice *notice = run->notice;
    size_t         i;

    leaving_forget(run, host);
    for (i = 0; i < notice->count; i++)
        if (node_of(run, notice->leaving[i].host) != NULL)
            return;
    if (run->phase.now == PHASE_RUNNING && notice->ending.host == NULL &&
        notice->change.host == NULL)
        notice_take_back(run);
}

bool notice_save(struct run *run)
{
    struct notice *notice = run->notice;
    const int64_t  now_ns = clock_now_ns();
    double         wait_s = run->options->grace_s * SAVE_PART;
    struct timeval wait = clock_interval(wait_s);

    if (run->plan->ckpt_marker == NULL || run->phase.now != PHASE_RUNNING ||
        notice->ending.host != NULL)
        return false;
    notice->ending =
        (struct leaving){ .host = xstrdup("muster"),
                          .reason = "muster must end",
                          .deadline_ns = now_ns + (int64_t)(run->options->grace_s * NS_PER_S),
                          .end_ns = now_ns + (int64_t)(wait_s * NS_PER_S) };
    xevent_add(notice->end, &wait);
    tell(run, &notice->ending);
    return true;
}

void notice_change(struct run *run, double seconds_left, const char *hosts, const char *reason)
{
    struct notice *notice = run->notice;
    const int64_t  end_ns = clock_now_ns() + (int64_t)(seconds_left * NS_PER_S);
    struct timeval wait = clock_interval(seconds_left);

    if (notice->change.host != NULL && notice->change.end_ns <= end_ns)
        return;
    free(notice->change.host);
    notice->change = (struct leaving){ .host = xstrdup(hosts), .deadline_ns = end_ns,
                                       .end_ns = end_ns };
    snprintf(notice->change.reason, sizeof notice->change.reason, "%s", reason);
    xevent_add(notice->change_due, &wait);
    if (run->phase.now == PHASE_RUNNING)
        tell(run, &notice->change);
}

static void change_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;

    (void)fd, (void)what;
    if (run->phase.now == PHASE_RUNNING)
        generation_change(run, run->notice->change.reason);
}

/* After this, the next notice to the same ranks counts as their first. */
void notice_take_back(struct run *run)
{
    struct notice *notice = run->notice;

    event_del(notice->change_due);
    free(notice->change.host);
    notice->change = (struct leaving){ 0 };
    notice->told_ns = 0;
    notice->is_written = false;
}

/* Stops the ranks with what is left of the grace. */
static void end_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;
    int64_t     left_ns = run->notice->ending.deadline_ns - clock_now_ns();

    (void)fd, (void)what;
    if (run->phase.now != PHASE_RUNNING)
        return;
    phase_stop(run);
    phase_stop_nodes(run, left_ns > 0 ? (double)left_ns / NS_PER_S : 0);
}

/* Sends the notices of nodes that are still in the world; the other nodes have gone. */
void notice_begin(struct run *run)
{
    struct notice *notice = run->notice;
    size_t         i;

    for (i = 0; i < notice->count; i++)
        if (node_of(run, notice->leaving[i].host) != NULL)
            tell(run, &notice->leaving[i]);
}

static void tell(struct run *run, const struct leaving *leaving)
{
    struct notice *notice = run->notice;
    const int64_t  now_ns = clock_now_ns();
    bool           is_first = notice->told_ns == 0;
    size_t         i;

    if (is_first)
        notice->told_ns = now_ns;
    if (is_first || leaving->deadline_ns < notice->deadline_ns)
        notice->deadline_ns = leaving->deadline_ns;
    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i]->state == NODE_RUNNING && node_takes_frames(run->node[i]))
            tell_node(run->node[i], leaving, is_first);
}

static void tell_node(struct node *node, const struct leaving *leaving, bool is_first)
{
    const struct run *run = node->arg;
    int64_t           left_ns = leaving->deadline_ns - clock_now_ns();

    node_send(node, FRAME_NOTICE,
              json_pack("{s:f, s:o, s:o, s:i}", "left_s",
                        left_ns > 0 ? (double)left_ns / NS_PER_S : 0.0, "reason",
                        json_text(leaving->reason, strlen(leaving->reason)), "node",
                        json_text(leaving->host, strlen(leaving->host)), "signal",
                        is_first ? run->options->notice_signal : 0));
}

void notice_take(struct run *run, struct node *node, const json_t *body)
{
    double      left_s = json_number_value(json_object_get(body, "left_s"));
    const char *reason = body_text(body, "reason"), *class = body_text(body, "class");
    double      margin_s = left_s > 2 * MARGIN_S ? MARGIN_S : left_s / 2;

    if (class[0] != '\0') {
        costs_class(run, node, class);
        return;
    }
    if (!(left_s >= 0 && left_s <= LEFT_MAX_S)) {
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL, "NOTICE frame: \"left_s\" is not a "
                  "number of seconds up to %g", LEFT_MAX_S);
        return;
    }
    if (!json_is_true(json_object_get(body, "session")))
        costs_class(run, node, "spot");
    may_be_back(run, node->plan->host, generation_now_s() + left_s + MEMBERS_COOL_S);
    if (pool_take_notice(run, node, left_s, reason))
        return;
    notice_give(run, node, left_s, margin_s, reason);
}

void notice_take_told(struct run *run, struct node *node, const json_t *body)
{
    const char *error = body_text(body, "error");

    log_info("%s: notice: %lld ranks got the signal, after %.3f s", node->plan->host,
             (long long)body_int(body, "signalled", 0),
             seconds(run->notice->told_ns, clock_now_ns()));
    if (error[0] != '\0')
        log_warn("%s: the ranks there get no notice file: %s", node->plan->host, error);
}

/* The time counts from when the ranks got the notice: they could not save before. */
void notice_take_checkpoint(struct run *run, struct node *node, const json_t *body)
{
    struct notice *notice = run->notice;
    const char    *says = body_text(body, "says");
    struct node   *leaver;
    size_t         i;

    (void)node;
    if (notice->told_ns == 0 || notice->is_written)
        return;
    notice->is_written = true;
    costs_checkpoint(run);
    log_note("checkpoint written after %.1f s of %.0f s: %s%s%s%s",
             seconds(notice->told_ns, clock_now_ns()),
             seconds(notice->told_ns, notice->deadline_ns), body_text(body, "path"),
             says[0] != '\0' ? " (" : "", says, says[0] != '\0' ? ")" : "");
    if (notice->ending.host != NULL) {
        end_cb(-1, 0, run);
        return;
    }
    if (notice->change.host != NULL)
        change_cb(-1, 0, run);
    for (i = 0; i < notice->count; i++) {
        leaver = node_of(run, notice->leaving[i].host);
        if (leaver != NULL)
            leaving_add(run, leaver->plan->host, clock_now_ns(), notice->leaving[i].reason);
    }
}

/* This is an error, since users who rely on checkpoints must see it. */
static void tell_missing(const struct notice *notice)
{
    double passed_s = seconds(notice->told_ns, clock_now_ns());

    if (notice->told_ns == 0 || notice->is_written)
        return;
    if (notice->run->plan->ckpt_marker == NULL)
        log_warn("it is not known whether a checkpoint was written in the %.1f s since the "
                 "notice; see --ckpt-marker",
                 passed_s);
    else
        log_error("NO CHECKPOINT was written in the %.1f s since the notice: no file that "
                  "matches %s is newer",
                  passed_s, notice->run->plan->ckpt_marker);
}

bool notice_was_told(const struct notice *notice)
{
    return notice->told_ns != 0;
}

void notice_over(struct run *run)
{
    const struct notice *notice = run->notice;
    size_t               which, i;

    for (i = 0; i < notice->count && notice->told_ns != 0; i++) {
        which = pool_find(run, notice->leaving[i].host);
        if (which != MEMBERS_NONE && node_of(run, notice->leaving[i].host) != NULL)
            members_leave(pool_members(run), which);
    }
}

void notice_end(struct run *run)
{
    struct notice *notice = run->notice;

    tell_missing(notice);
    event_del(notice->end);
    notice_take_back(notice->run);
}

int notice_drain(const struct strlist *words, char *answer, size_t size, void *arg,
                 struct error *err)
{
    struct run *run = arg;
    double      seconds_left;
    size_t      i;

    if (parse_seconds(words->item[0], 0, LEFT_MAX_S, &seconds_left, err) < 0)
        return -1;
    if (generation_is_last(run))
        return err_set(err, "this run is ending");
    for (i = 1; i < words->count; i++)
        if (node_of(run, words->item[i]) == NULL &&
            pool_find(run, words->item[i]) == MEMBERS_NONE)
            return err_set(err, "%.200s is not a node of this run", words->item[i]);
    for (i = 1; i < words->count; i++)
        drain(run, words->item[i], seconds_left);
    snprintf(answer, size, "%zu %s will leave within %g s", words->count - 1,
             words->count == 2 ? "node" : "nodes", seconds_left);
    return 0;
}

static void drain(struct run *run, const char *host, double left_s)
{
    static const char reason[] = "muster drain";
    struct node      *node = node_of(run, host);

    may_be_back(run, node != NULL ? node->plan->host : host, 0);
    if (node != NULL) {
        notice_give(run, node, left_s, 0, reason);
        return;
    }
    log_warn("%s leaves now: it has no ranks (%s)", host, reason);
    leaving_add(run, host, clock_now_ns(), reason);
}

/* From that time on another machine may have the host's name, or the cloud has kept it after
 * all. 0: never, since the user wants it gone. */
static void may_be_back(struct run *run, const char *host, double at_s)
{
    size_t which = pool_find(run, host);

    if (which != MEMBERS_NONE)
        members_expect_back(pool_members(run), which, at_s);
}

/* Finds a node by its full name or by its name in messages. */
static struct node *node_of(const struct run *run, const char *host)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (strcmp(run->node[i]->plan->host, host) == 0 ||
            strcmp(plan_label(run->node[i]->plan), host) == 0)
            return run->node[i];
    return NULL;
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / NS_PER_S;
}
