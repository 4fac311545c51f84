/* checkpoint_watch.c - looks for checkpoints while ranks run, if PLAN has "ckpt_marker"
 *
 * A child looks every two seconds, and writes a line for each new file, or every ten seconds that
 * there is none. If it is silent for longer, the file system hangs: the launcher hears of it once,
 * and the child goes on when the file system does. When the ranks have ended another child looks
 * once more, so that no checkpoint is missed that a rank wrote before it failed.
 *
 * What is older than the first look is no checkpoint of this generation, unless it was written
 * since GO by our own clock; after that only the clock of the file system counts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "node/test_switch.h"
#include "task/marker.h"
#include "xalloc.h"
#include "xevent.h"

#define LOOK_S       2       /* between two looks */
#define ALIVE_LOOKS  5       /* looks between two lines if there is nothing new */
#define CHILD_LOOKS  1000    /* that a child does; then comes another one */
#define CHILD_S      43200.0 /* its limit, if it hangs */
#define UNANSWERED_S 30.0    /* without a line: the file system hangs */
#define PAUSED_S     5.0     /* if the timer is later than this, we have hung */
#define LAST_S       2.0     /* for the look after the last rank has ended */
#define COARSE_NS    20000000 /* file times are those of the last kernel tick */

struct checkpoint_watch {
    struct task  *task; /* NULL: it could not be forked */
    struct event *late;
    int64_t       begun_ns;  /* when the ranks began, by the clock of files */
    int64_t       newest_ns; /* the newest file; -1: no look has come back yet */
    int64_t       heard_ns;  /* the last line of the child */
    bool          is_last;   /* the look after the end */
    bool          is_told;   /* the launcher knows that the file system hangs */
};

static void   look(struct agent *agent, double limit_s);
static void   line_cb(json_t *body, void *arg);
static void   end_cb(json_t *body, void *arg);
static void   late_cb(evutil_socket_t fd, short what, void *arg);
static void   wait_for_line(struct checkpoint_watch *watch, double seconds);
static double unanswered_s(void);
static int    watch_run(const json_t *request, struct task_output *out);
static double save_s(const struct agent *agent, int64_t at_ns);

void checkpoint_watch_begin(struct agent *agent)
{
    struct checkpoint_watch *watch;

    if (agent->plan.ckpt_marker == NULL || agent->plan.is_exec)
        return;
    checkpoint_watch_clear(agent);
    agent->checkpoint_watch = watch = xcalloc(1, sizeof *watch);
    watch->late = xevent_new(agent->base, -1, late_cb, agent);
    watch->begun_ns = marker_now_ns() - COARSE_NS;
    watch->newest_ns = -1;
    look(agent, CHILD_S);
}

void checkpoint_watch_clear(struct agent *agent)
{
    struct checkpoint_watch *watch = agent->checkpoint_watch;

    if (watch == NULL)
        return;
    task_free(watch->task);
    event_free(watch->late);
    free(watch);
    agent->checkpoint_watch = NULL;
}

/* A child that is silent hangs in the file system, and so would another one. */
bool checkpoint_watch_look_last(struct agent *agent)
{
    struct checkpoint_watch *watch = agent->checkpoint_watch;

    if (watch == NULL || agent->link.is_lost)
        return true;
    if (!watch->is_last) {
        if ((double)(clock_now_ns() - watch->heard_ns) / NS_PER_S > 2 * LOOK_S * ALIVE_LOOKS)
            return true;
        event_del(watch->late);
        task_free(watch->task);
        watch->is_last = true;
        look(agent, LAST_S);
    }
    return watch->task == NULL || task_is_over(watch->task);
}

static void look(struct agent *agent, double limit_s)
{
    static const struct task_row row = { "checkpoints", watch_run };
    static const struct task_ops ops = { line_cb, end_cb };
    struct task_request          request = { &row, 0, limit_s };
    struct checkpoint_watch     *watch = agent->checkpoint_watch;
    struct error                 err;
    const int64_t looked_ns = watch->newest_ns < 0
                                  ? watch->begun_ns
                                  : marker_now_ns() - (clock_now_ns() - watch->heard_ns);
    json_t       *body = json_pack("{s:o, s:I, s:I, s:I, s:b}", "marker",
                                   json_string_nocheck(agent->plan.ckpt_marker), "begun_ns",
                                   (json_int_t)watch->begun_ns, "newest_ns",
                                   (json_int_t)watch->newest_ns, "looked_ns",
                                   (json_int_t)looked_ns, "is_last", (int)watch->is_last);

    watch->heard_ns = clock_now_ns();
    watch->task = task_begin(agent->base, &request, body, &ops, agent, &err);
    json_decref(body);
    if (!watch->is_last)
        wait_for_line(watch, unanswered_s());
}

static void line_cb(json_t *body, void *arg)
{
    struct agent            *agent = arg;
    struct checkpoint_watch *watch = agent->checkpoint_watch;
    const json_t            *line = json_object_get(body, "line");

    watch->heard_ns = clock_now_ns();
    watch->newest_ns = json_integer_value(json_object_get(line, "file_ns"));
    if (!watch->is_last)
        wait_for_line(watch, unanswered_s());
    if (json_object_get(line, "path") != NULL)
        checkpoint_watch_tell(agent, line, false);
    json_decref(body);
}

void checkpoint_watch_tell(struct agent *agent, const json_t *line, bool is_noticed)
{
    const int64_t age_ns = json_integer_value(json_object_get(line, "age_ns"));
    const double  pause_s = save_s(agent, clock_now_ns() - age_ns);
    json_t       *body;

    if (agent->state >= AGENT_DONE)
        return;
    body = json_pack("{s:O, s:O, s:O, s:f}", "path", json_object_get(line, "path"), "says",
                     json_object_get(line, "says"), "file_ns", json_object_get(line, "file_ns"),
                     "age_s", (double)age_ns / NS_PER_S);
    if (pause_s >= 0)
        json_object_set_new(body, "save_s", json_real(pause_s));
    if (is_noticed)
        json_object_set_new(body, "noticed", json_true());
    agent_send(agent, FRAME_CHECKPOINT, 0, body);
    link_ask_room(&agent->link);
}

/* Returns the time from the last step before at_ns until then; negative: not known. */
static double save_s(const struct agent *agent, int64_t at_ns)
{
    int64_t latest_ns = -1, step_ns;
    int     i;

    for (i = 0; i < agent->ranks.count; i++) {
        step_ns = rank_step_before(&agent->ranks.rank[i], at_ns);
        if (step_ns > latest_ns)
            latest_ns = step_ns;
    }
    return latest_ns >= 0 ? (double)(at_ns - latest_ns) / NS_PER_S : -1;
}

/* A task must not be freed here. */
static void end_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;

    json_decref(body);
    if (agent->checkpoint_watch->is_last)
        ending_maybe_done(agent);
    else
        wait_for_line(agent->checkpoint_watch, LOOK_S);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent            *agent = arg;
    struct checkpoint_watch *watch = agent->checkpoint_watch;
    const char              *marker = agent->plan.ckpt_marker;
    double silent_s = (double)(clock_now_ns() - watch->heard_ns) / NS_PER_S;

    (void)fd, (void)what;
    if (watch->task == NULL || task_is_over(watch->task)) {
        task_free(watch->task);
        look(agent, CHILD_S);
    } else if (silent_s > unanswered_s() + PAUSED_S) {
        watch->heard_ns = clock_now_ns();
        wait_for_line(watch, unanswered_s());
    } else if (!watch->is_told && agent->state == AGENT_RUNNING) {
        watch->is_told = true;
        agent_send(agent, FRAME_CHECKPOINT, 0,
                   json_pack("{s:o, s:f}", "path", json_text(marker, strlen(marker)),
                             "unanswered_s", silent_s));
        link_flush(&agent->link);
    }
}

static void wait_for_line(struct checkpoint_watch *watch, double seconds)
{
    const struct timeval limit = clock_interval(seconds);

    xevent_add(watch->late, &limit);
}

static double unanswered_s(void)
{
    const char *other = test_switch(TEST_SWITCH_MARKER_S);

    return other != NULL ? strtod(other, NULL) : UNANSWERED_S;
}

/* --- the child ---------------------------------------------------------------- */

static int watch_run(const json_t *request, struct task_output *out)
{
    const struct timespec pause = { .tv_sec = LOOK_S };
    const char           *pattern = json_string_value(json_object_get(request, "marker"));
    const bool is_last = json_is_true(json_object_get(request, "is_last"));
    int64_t    begun_ns = json_integer_value(json_object_get(request, "begun_ns"));
    int64_t    newest_ns = json_integer_value(json_object_get(request, "newest_ns"));
    int64_t    looked_ns = json_integer_value(json_object_get(request, "looked_ns")), at_ns;
    struct marker found;
    int           i;

    for (i = 0; i < (is_last ? 1 : CHILD_LOOKS); i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        at_ns = marker_now_ns();
        marker_find(pattern, &found);
        if (newest_ns < 0)
            newest_ns = found.file_ns >= begun_ns && found.file_ns <= marker_now_ns()
                            ? 0
                            : found.file_ns;
        if (found.file_ns > newest_ns) {
            newest_ns = found.file_ns;
            task_output_line(out, marker_line(&found, marker_now_ns() - looked_ns));
        } else if (i % ALIVE_LOOKS == 0) {
            task_output_line(out, json_pack("{s:I}", "file_ns", (json_int_t)newest_ns));
        }
        looked_ns = at_ns;
    }
    return 0;
}
