/* notice.c - see notice.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "elastic/membership.h"
#include "hook/event.h"
#include "log.h"
#include "node/body.h"
#include "run/costs.h"
#include "run/events.h"
#include "run/phase.h"
#include "run/pool.h"
#include "run/run.h"
#include "xalloc.h"
#include "xevent.h"

#define LEFT_MAX_S 86400.0  /* a longer time is refused */
#define SAVE_PART (2.0 / 3) /* of --grace; the rest is for the ranks to exit */
#define SAVE_WITHIN_S 300.0 /* for a checkpoint, as by default with muster drain */
#define MARGIN_S 20.0       /* a node's ranks must be gone this long before a cloud takes it */

/* A notice that the ranks must exit, whichever node leaves. */
struct announcement {
    char         *hosts; /* that will have no place; NULL: they need not exit */
    char          reason[MEMBERSHIP_REASON_SIZE];
    int64_t       deadline_ns;
    bool          is_due;
    struct event *due;
};

struct notice {
    struct run *run;

    /* State of this generation. */
    int64_t told_ns;     /* when its ranks got the first notice; 0: they got none */
    int64_t deadline_ns; /* the earliest of the notices that they got */
    bool    is_written;

    struct announcement end;    /* of the run */
    struct announcement change; /* of this generation, for another world */
};

static void   change_cb(evutil_socket_t fd, short what, void *arg);
static void   end_cb(evutil_socket_t fd, short what, void *arg);
static void   forget(struct notice *notice);
static void   tell(struct run *run, const char *hosts, const char *reason, int64_t deadline_ns);
static void   tell_node(struct node *node, json_t *body);
static void   tell_missing(const struct notice *notice);
static double seconds(int64_t from_ns, int64_t to_ns);

struct notice *notice_new(struct run *run)
{
    struct notice *notice = xcalloc(1, sizeof *notice);

    notice->run = run;
    notice->end.due = xevent_new(run->base, -1, end_cb, run);
    notice->change.due = xevent_new(run->base, -1, change_cb, run);
    return notice;
}

void notice_free(struct notice *notice)
{
    if (notice == NULL)
        return;
    free(notice->end.hosts);
    free(notice->change.hosts);
    event_free(notice->end.due);
    event_free(notice->change.due);
    free(notice);
}

double notice_save_s(const struct run *run)
{
    return run->plan->ckpt_marker != NULL ? SAVE_WITHIN_S : run->options->grace_s;
}

/* --- who gets one, and why -------------------------------------------------- */

void notice_leaves(struct run *run, size_t which, const struct departure *departure)
{
    tell(run, pool_name(run, which), departure->reason,
         (int64_t)(departure->gone_s * NS_PER_S));
}

bool notice_save(struct run *run)
{
    struct announcement *end = &run->notice->end;
    struct timeval       wait = clock_interval(run->options->grace_s * SAVE_PART);

    if (run->plan->ckpt_marker == NULL || run->phase.now != PHASE_RUNNING || end->hosts != NULL)
        return false;
    end->hosts = xstrdup("muster");
    snprintf(end->reason, sizeof end->reason, "muster must end");
    end->deadline_ns = clock_now_ns() + (int64_t)(run->options->grace_s * NS_PER_S);
    xevent_add(end->due, &wait);
    tell(run, end->hosts, end->reason, end->deadline_ns);
    return true;
}

/* Stops the ranks with what is left of the grace. */
static void end_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;
    int64_t     left_ns = run->notice->end.deadline_ns - clock_now_ns();

    (void)fd, (void)what;
    if (run->phase.now != PHASE_RUNNING)
        return;
    phase_stop(run);
    phase_stop_nodes(run, left_ns > 0 ? (double)left_ns / NS_PER_S : 0);
}

void notice_change(struct run *run, double seconds_left, const char *hosts, const char *reason)
{
    struct announcement *change = &run->notice->change;
    const int64_t        deadline_ns = clock_now_ns() + (int64_t)(seconds_left * NS_PER_S);
    struct timeval       wait = clock_interval(seconds_left);

    if (change->hosts != NULL && change->deadline_ns <= deadline_ns)
        return;
    free(change->hosts);
    change->hosts = xstrdup(hosts);
    snprintf(change->reason, sizeof change->reason, "%s", reason);
    change->deadline_ns = deadline_ns;
    xevent_add(change->due, &wait);
    if (run->phase.now == PHASE_RUNNING)
        tell(run, hosts, reason, deadline_ns);
}

static void change_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;

    (void)fd, (void)what;
    run->notice->change.is_due = true;
    run_changed(run);
}

const char *notice_change_due(const struct notice *notice)
{
    return notice->change.is_due ? notice->change.reason : NULL;
}

/* If the ranks have no other notice, their next one counts as their first. */
void notice_take_back(struct run *run)
{
    struct notice       *notice = run->notice;
    struct announcement *change = &notice->change;

    event_del(change->due);
    free(change->hosts);
    change->hosts = NULL;
    change->is_due = false;
    if (!membership_is_announced(pool_members(run)))
        forget(notice);
}

static void forget(struct notice *notice)
{
    notice->told_ns = 0;
    notice->is_written = false;
}

void notice_none_leaves(struct run *run)
{
    if (run->notice->end.hosts == NULL && run->notice->change.hosts == NULL)
        forget(run->notice);
}

static void tell(struct run *run, const char *hosts, const char *reason, int64_t deadline_ns)
{
    struct notice *notice = run->notice;
    const int64_t  now_ns = clock_now_ns();
    const bool     is_first = notice->told_ns == 0;
    const double   left_s = deadline_ns > now_ns ? seconds(now_ns, deadline_ns) : 0.0;
    size_t         i;

    if (is_first)
        notice->told_ns = now_ns;
    if (is_first || deadline_ns < notice->deadline_ns)
        notice->deadline_ns = deadline_ns;
    for (i = 0; i < run->plan->nodes; i++)
        tell_node(run->node[i], json_pack("{s:f, s:o, s:o, s:i}", "left_s", left_s, "reason",
                                          json_text(reason, strlen(reason)), "node",
                                          json_text(hosts, strlen(hosts)), "signal",
                                          is_first ? run->options->notice_signal : 0));
}

/* Takes over body. */
static void tell_node(struct node *node, json_t *body)
{
    if (node->state == NODE_RUNNING && node_takes_frames(node))
        node_send(node, FRAME_NOTICE, body);
    else
        json_decref(body);
}

/* --- frames ----------------------------------------------------------------- */

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
        node_fail(node, "protocol", EXIT_PROTOCOL, NULL,
                  "NOTICE frame: \"left_s\" is not a "
                  "number of seconds up to %g",
                  LEFT_MAX_S);
        return;
    }
    if (!json_is_true(json_object_get(body, "session")))
        costs_class(run, node, "spot");
    notice_depart(run, node->plan->host, DEPARTURE_CLOUD, reason, left_s, margin_s);
}

void notice_depart(struct run *run, const char *host, enum departure_kind kind,
                   const char *reason, double left_s, double margin_s)
{
    struct membership *members = pool_members(run);
    const size_t       which = membership_find(members, host);
    char               text[EVENT_TEXT_MAX];
    size_t             place;

    if (which == MEMBERSHIP_NONE)
        return;
    run_changed(run);
    if (!membership_depart(members, which, kind, reason, clock_now_s(), left_s, margin_s))
        return;
    place = membership_place(members, which);
    if (place == MEMBERSHIP_NONE)
        snprintf(text, sizeof text, "%s leaves now: no rank runs there (%s)", host, reason);
    else
        snprintf(text, sizeof text, "%s leaves in %.0f s (%s)",
                 plan_label(&run->plan->node[place]), left_s, reason);
    log_warn("%s", text);
    events_tell(run, "notice",
                json_pack("{s:o, s:f, s:o}", "node", event_string(host, EVENT_TEXT_MAX), "left_s",
                          left_s, "reason", event_string(reason, EVENT_TEXT_MAX)),
                "%s", text);
}

void notice_take_noticed(struct run *run, struct node *node, const json_t *body)
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

    (void)node;
    if (notice->told_ns == 0 || notice->is_written)
        return;
    notice->is_written = true;
    log_note("checkpoint written after %.1f s of %.0f s: %s%s%s%s",
             seconds(notice->told_ns, clock_now_ns()),
             seconds(notice->told_ns, notice->deadline_ns), body_text(body, "path"),
             says[0] != '\0' ? " (" : "", says, says[0] != '\0' ? ")" : "");
    if (notice->end.hosts != NULL)
        end_cb(-1, 0, run);
    else if (notice->change.hosts != NULL)
        notice->change.is_due = true;
    membership_saved(pool_members(run), clock_now_s());
    run_changed(run);
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

bool notice_was_given(const struct notice *notice)
{
    return notice->told_ns != 0;
}

void notice_end(struct run *run)
{
    tell_missing(run->notice);
    event_del(run->notice->end.due);
    notice_take_back(run);
    forget(run->notice);
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / NS_PER_S;
}
