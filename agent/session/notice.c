/* notice.c - NOTICE: tells the launcher that this machine will leave, or tells the ranks here
 * that a node of the run will leave, and waits for a checkpoint
 *
 * The notice file appears complete, by rename, at a path that the launcher has drawn at
 * random, so no other process can have made it. It is removed at the end of its generation.
 * Looking for checkpoints may hang in a file system, so a task does that. It looks more often than
 * checkpoint_watch.c does: the run waits for it.
 *
 * A checkpoint is newer than the notice if its time is later than that of all files that
 * matched when the notice came: the clock of a file server may differ from ours. If a
 * checkpoint was written between the notice and the first look, our own clock decides.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "exit_code.h"
#include "fd.h"
#include "task/marker.h"
#include "xalloc.h"
#include "xevent.h"

#define LEFT_MAX_S  NODE_PLAN_SECONDS_MAX
#define LOOK_MS     100
#define LAST_S      2.0 /* for a look after the last rank has ended: a file system may hang */
#define COARSE_NS   20000000 /* file times are those of the last kernel tick */

struct told {
    double      left_s;
    const char *reason, *node; /* borrowed from the frame */
    int         signal;        /* 0: none */
};

static void    goes_cb(double left_s, const char *reason, void *arg);
static void    class_cb(const char *class, void *arg);
static void    tell_going(struct agent *agent);
static int     write_file(struct agent *agent, const struct told *told, struct error *err);
static int     write_at(const char *path, const char *text, int *fd, struct error *err);
static void    unlock_file(struct agent *agent);
static void    tell_signalled(struct agent *agent, int count);
static void    tell_noticed(struct agent *agent, int count, const char *error);
static void    begin_watch(struct agent *agent, double left_s);
static void    look(struct agent *agent, double limit_s);
static void    line_cb(json_t *body, void *arg);
static void    end_cb(json_t *body, void *arg);
static int     watch(const json_t *request, struct task_output *out);

int notice_begin(struct agent *agent, struct failure *failure)
{
    static const struct spot_ops ops = { goes_cb, class_cb };
    struct error                 why;

    if (agent->going.is_known)
        tell_going(agent); /* the first may have been of a generation that was over */
    if (agent->plan.spot == NULL || agent->spot != NULL)
        return 0;
    if (spot_begin(&agent->spot, agent->base, agent->plan.spot, &ops, agent, &why) < 0)
        return failure_set(failure, EXIT_USAGE, "", "--spot: %s", why.text);
    return 0;
}

static void goes_cb(double left_s, const char *reason, void *arg)
{
    struct agent *agent = arg;

    agent->going = (struct going){
        .is_known = true, .at_ns = clock_boot_ns() + (int64_t)(left_s * NS_PER_S) };
    snprintf(agent->going.reason, sizeof agent->going.reason, "%s", reason);
    tell_going(agent);
}

void notice_session_ends(struct agent *agent, double left_s)
{
    agent->going = (struct going){
        .is_known = true, .is_session = true,
        .at_ns = clock_boot_ns() + (int64_t)(left_s * NS_PER_S) };
    snprintf(agent->going.reason, sizeof agent->going.reason,
             "its machine, Pod or login session is ending: muster's agent received %s",
             signal_name(agent->session_signal).text);
    tell_going(agent);
}

static void class_cb(const char *class, void *arg)
{
    struct agent *agent = arg;

    agent_send(agent, FRAME_NOTICE, 0, json_pack("{s:s}", "class", class));
    link_flush(&agent->link);
}

static void tell_going(struct agent *agent)
{
    int64_t left_ns = agent->going.at_ns - clock_boot_ns();

    agent_send(agent, FRAME_NOTICE, 0,
               json_pack("{s:f, s:s, s:b}", "left_s",
                         left_ns > 0 ? (double)left_ns / NS_PER_S : 0.0, "reason",
                         agent->going.reason, "session", (int)agent->going.is_session));
    link_flush(&agent->link);
}

int notice_take(struct agent *agent, const struct frame *frame, const json_t *body,
                struct error *err)
{
    struct told told = { json_number_value(json_object_get(body, "left_s")),
                         json_string_value(json_object_get(body, "reason")),
                         json_string_value(json_object_get(body, "node")),
                         (int)json_integer_value(json_object_get(body, "signal")) };
    struct error why = { "" };

    (void)frame;
    if (!(told.left_s >= 0 && told.left_s <= LEFT_MAX_S) || told.reason == NULL ||
        told.node == NULL || told.signal < 0 || told.signal > SIGRTMAX)
        return err_set(err, "NOTICE frame: not what doc/PROTOCOL says");
    if (agent->state >= AGENT_DONE)
        return 0;
    begin_watch(agent, told.left_s);
    if (agent->plan.notice_file != NULL)
        write_file(agent, &told, &why);
    if (why.text[0] != '\0' || told.signal == 0)
        tell_noticed(agent, 0, why.text);
    notice_signal_begin(agent, told.signal, told.left_s, tell_signalled);
    return 0;
}

void notice_clear(struct agent *agent)
{
    notice_signal_end(agent);
    if (agent->notice.is_there) {
        unlink(agent->plan.notice_file);
        unlock_file(agent);
    }
    task_free(agent->notice.watch);
    agent->notice = (struct notice){ 0 };
}

void notice_close(struct agent *agent)
{
    notice_clear(agent);
    spot_free(agent->spot);
    agent->spot = NULL;
}

/* --- the ranks -------------------------------------------------------------- */

/* The deadline is by this node's clock: the ranks have no other. */
static int write_file(struct agent *agent, const struct told *told, struct error *err)
{
    const char *path = agent->plan.notice_file;
    json_t     *body = json_pack("{s:f, s:f, s:s, s:s, s:i}", "deadline",
                                 (double)marker_now_ns() / NS_PER_S + told->left_s, "left_s",
                                 told->left_s, "reason", told->reason, "node", told->node,
                                 "generation", (int)agent->generation - 1);
    char       *text = json_dumps(body, JSON_COMPACT), *fresh = xasprintf("%s.new", path);
    int         fd, rc;

    json_decref(body);
    if (text == NULL)
        xalloc_die();
    rc = write_at(fresh, text, &fd, err);
    if (rc == 0 && rename(fresh, path) < 0)
        rc = err_set(err, "%s: %s", path, strerror(errno));
    if (rc < 0) {
        unlink(fresh);
        if (fd >= 0)
            close(fd);
    } else {
        unlock_file(agent);
        agent->notice.file_fd = fd;
        agent->notice.is_there = true;
    }
    free(fresh);
    free(text);
    return rc;
}

static void tell_signalled(struct agent *agent, int count)
{
    tell_noticed(agent, count, "");
}

static void tell_noticed(struct agent *agent, int count, const char *error)
{
    json_t *body = json_pack("{s:i}", "signalled", count);

    if (error[0] != '\0')
        json_object_set_new(body, "error", json_text(error, strlen(error)));
    agent_send(agent, FRAME_NOTICED, 0, body);
    link_flush(&agent->link);
}

/* The lock only helps muster clean: ranks can use the file without it. */
static int write_at(const char *path, const char *text, int *fd, struct error *err)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd >= 0)
        flock(*fd, LOCK_EX | LOCK_NB);
    if (*fd < 0 || fd_write_all(*fd, text, strlen(text)) != strlen(text) ||
        fd_write_all(*fd, "\n", 1) != 1)
        return err_set(err, "%s: %s", path, strerror(errno));
    return 0;
}

static void unlock_file(struct agent *agent)
{
    if (agent->notice.is_there)
        close(agent->notice.file_fd);
    agent->notice.is_there = false;
}

/* --- the checkpoint --------------------------------------------------------- */

/* If no child can be forked, the checkpoint goes unseen: the launcher
 * then waits its full time. */
static void begin_watch(struct agent *agent, double left_s)
{
    if (agent->plan.ckpt_marker == NULL ||
        (agent->notice.watch != NULL && !agent->notice.is_watched))
        return;
    task_free(agent->notice.watch);
    agent->notice.is_watched = false;
    agent->notice.told_ns = marker_now_ns() - COARSE_NS;
    agent->notice.before_ns = -1;
    look(agent, left_s + 1);
}

static void look(struct agent *agent, double limit_s)
{
    static const struct task_row row = { "checkpoint", watch };
    static const struct task_ops ops = { line_cb, end_cb };
    struct task_request          request = { &row, 0, limit_s };
    struct notice               *notice = &agent->notice;
    struct error                 err;
    json_t *body = json_pack("{s:o, s:I, s:I, s:b}", "marker",
                             json_string_nocheck(agent->plan.ckpt_marker), "told_ns",
                             (json_int_t)notice->told_ns, "before_ns",
                             (json_int_t)notice->before_ns, "is_last", (int)notice->is_last);

    notice->watch = task_begin(agent->base, &request, body, &ops, agent, &err);
    json_decref(body);
}

static void line_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;
    const json_t *line = json_object_get(body, "line");

    if (json_object_get(line, "path") == NULL)
        agent->notice.before_ns = json_integer_value(json_object_get(line, "before_ns"));
    else
        checkpoint_watch_tell(agent, line, true);
    json_decref(body);
}

static void end_cb(json_t *body, void *arg)
{
    struct agent *agent = arg;

    agent->notice.is_watched = true;
    json_decref(body);
    ending_maybe_done(agent);
}

/* A rank may save and exit at once, before the next look. */
bool notice_look_last(struct agent *agent)
{
    struct notice *notice = &agent->notice;

    if (notice->watch == NULL || notice->is_watched || agent->link.is_lost)
        return true;
    if (!notice->is_last) {
        task_free(notice->watch);
        notice->is_last = true;
        look(agent, LAST_S);
    }
    return notice->watch == NULL;
}

/* Runs in the child, which is killed if it takes too long. */
static int watch(const json_t *request, struct task_output *out)
{
    const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000 };
    const char           *marker = json_string_value(json_object_get(request, "marker"));
    const bool is_last = json_is_true(json_object_get(request, "is_last"));
    int64_t    told_ns = json_integer_value(json_object_get(request, "told_ns"));
    int64_t    before_ns = json_integer_value(json_object_get(request, "before_ns"));
    struct marker found;

    marker_find(marker, &found);
    if (!is_last)
        before_ns = found.file_ns >= told_ns && found.file_ns <= marker_now_ns()
                        ? 0 /* it is new */
                        : found.file_ns;
    else if (before_ns < 0)
        before_ns = told_ns - 1;
    if (is_last && found.file_ns <= before_ns)
        return 0;
    task_output_line(out, json_pack("{s:I}", "before_ns", (json_int_t)before_ns));
    while (found.file_ns <= before_ns) {
        nanosleep(&pause, NULL);
        marker_find(marker, &found);
    }
    task_output_line(out, marker_line(&found, marker_now_ns() - told_ns));
    return 0;
}
