/* rank.c - see rank.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/rank.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "exit_code.h"
#include "fd.h"
#include "node/own_dir.h"
#include "plan/limits.h"
#include "rank/pty.h"
#include "rank/ranks.h"
#include "xalloc.h"
#include "xevent.h"

/* Limit for bytes of answers that a rank does not read, and of requests not handled yet. */
#define PMI_UNREAD_MAX (256u << 10)
/* Limit for bytes of a rank's last requests: no socket holds more. */
#define PMI_UNHEARD_MAX (1u << 20)

static int     make_fds(struct rank *rank, int fds[SPAWN_FDS], struct error *err);
static void    tell(struct rank *rank, enum frame_type type, json_t *body);
static int     open_standard(struct rank *rank, int fds[SPAWN_FDS], struct error *err);
static int     open_terminal(struct rank *rank, int fds[SPAWN_FDS], struct error *err);
static int     open_stream(struct rank *rank, struct stream *stream, enum frame_stream which,
                           struct error *err);
static void    set_stream(struct rank *rank, struct stream *stream);
static int     pmi_open(struct rank *rank, struct error *err);
static void    pmi_hear_out(struct rank *rank);
static void    pmi_readable_cb(struct bufferevent *event, void *arg);
static void    pmi_event_cb(struct bufferevent *event, short what, void *arg);
static void    pmi_close(struct rank *rank);
static void    log_changed(void *arg);
static void    late_cb(evutil_socket_t fd, short what, void *arg);
static char   *program_beside_agent(const char *name, const struct strlist *env,
                                    struct failure *failure);
static json_t *report(struct rank *rank);
static void    report_failure(struct rank *rank, json_t *body);

void rank_init(struct rank *rank, struct ranks *ranks, int index)
{
    *rank = (struct rank){ .ranks = ranks, .plan = &ranks->plan->rank[index], .index = index };
    rank->out.fd = rank->err.fd = rank->input.fd = -1;
    step_watch_begin(&rank->called, NULL);
    rank->input.changed = ranks->ops->input;
    rank->input.arg = ranks->arg;
}

int rank_prepare(struct rank *rank, const struct strlist *base, int threads,
                 struct failure *failure)
{
    prepare_env(rank->ranks->plan, rank->plan, base, threads, &rank->env);
    rank->path = rank->ranks->plan->beside_agent
                     ? program_beside_agent(rank->plan->argv.item[0], &rank->env, failure)
                     : prepare_program(rank->plan->argv.item[0], &rank->env, failure);
    return rank->path != NULL ? 0 : -1;
}

static char *program_beside_agent(const char *name, const struct strlist *env,
                                  struct failure *failure)
{
    struct error why;
    char        *dir = own_dir(&why), *path, *found;

    if (dir == NULL) {
        failure_set(failure, EXIT_CANNOT_EXECUTE, "", "%s: %s", name, why.text);
        return NULL;
    }
    path = xasprintf("%s/%s", dir, name);
    found = prepare_program(path, env, failure);
    free(path);
    free(dir);
    return found;
}

int rank_open_log(struct rank *rank, struct error *err)
{
    const struct node_plan *plan = rank->ranks->plan;

    rank->log = log_file_new(rank->ranks->base, plan->log_dir, plan->log_stamp, rank->plan->rank,
                             log_changed, rank, err);
    return rank->log != NULL ? 0 : -1;
}

int rank_fork(struct rank *rank, struct failure *failure)
{
    int          fds[SPAWN_FDS] = { -1, -1, -1, -1, -1 }, i, rc;
    struct error why;

    errno = 0;
    rc = make_fds(rank, fds, &why);
    if (rc < 0)
        limits_failure(failure, errno, "%s", why.text);
    /* If the guard is gone, guard_receive() reports that soon. */
    else if ((rc = guard_spawn(rank->ranks->guard, rank->index, fds)) < 0 && errno != EPIPE &&
             errno != ECONNRESET)
        limits_failure(failure, errno, "cannot tell the guard to start a rank: %s",
                       strerror(errno));
    else
        rc = 0;
    if (rc == 0)
        rank->state = RANK_FORKING;
    for (i = 0; i < SPAWN_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    strlist_clear(&rank->env);
    return rc;
}

static int make_fds(struct rank *rank, int fds[SPAWN_FDS], struct error *err)
{
    struct ranks *ranks = rank->ranks;
    struct spawn  spawn = { .path = rank->path, .cwd = ranks->plan->cwd,
                            .argv = &rank->plan->argv, .env = &rank->env };

    if (ranks->binding.ranks > 0) {
        spawn.cpus = ranks->binding.mask[rank->index];
        spawn.cpus_size = ranks->binding.mask_size;
    }
    if (open_standard(rank, fds, err) < 0 || (ranks->pmi != NULL &&
                                             (fds[SPAWN_FD_PMI] = pmi_open(rank, err)) < 0))
        return -1;
    if (ranks->pmix != NULL) { /* speaks PMI for the rank */
        pmix_give(ranks->pmix, fds[SPAWN_FD_PMI]);
        close(fds[SPAWN_FD_PMI]);
        fds[SPAWN_FD_PMI] = -1;
    }
    fds[SPAWN_FD_SPEC] = spawn_pack(&spawn, err);
    return fds[SPAWN_FD_SPEC] < 0 ? -1 : 0;
}

/* Opens the rank's input and output. */
static int open_standard(struct rank *rank, int fds[SPAWN_FDS], struct error *err)
{
    struct event_base *base = rank->ranks->base;

    if (rank->plan->input == INPUT_TERMINAL)
        return open_terminal(rank, fds, err);
    if (rank->plan->input == INPUT_PIPE)
        fds[SPAWN_FD_STDIN] = input_open_pipe(&rank->input, base, err);
    else if ((fds[SPAWN_FD_STDIN] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
        err_set(err, "/dev/null: %s", strerror(errno));
    if (fds[SPAWN_FD_STDIN] < 0 ||
        (fds[SPAWN_FD_STDOUT] = open_stream(rank, &rank->out, STREAM_STDOUT, err)) < 0)
        return -1;
    fds[SPAWN_FD_STDERR] = open_stream(rank, &rank->err, STREAM_STDERR, err);
    return fds[SPAWN_FD_STDERR] < 0 ? -1 : 0;
}

/* Like a login: what the rank writes to stderr is in the terminal, too. */
static int open_terminal(struct rank *rank, int fds[SPAWN_FDS], struct error *err)
{
    const struct node_plan *plan = rank->ranks->plan;
    int                     slave, master = pty_open(plan->rows, plan->columns, &slave, err);

    if (master < 0)
        return -1;
    stream_open_terminal(&rank->out, rank->ranks->base, master);
    set_stream(rank, &rank->out);
    fds[SPAWN_FD_STDIN] = slave;
    fds[SPAWN_FD_STDOUT] = fcntl(slave, F_DUPFD_CLOEXEC, 0);
    fds[SPAWN_FD_STDERR] = fcntl(slave, F_DUPFD_CLOEXEC, 0);
    if (fds[SPAWN_FD_STDOUT] < 0 || fds[SPAWN_FD_STDERR] < 0)
        return err_set(err, "cannot copy a descriptor: %s", strerror(errno));
    return input_open_terminal(&rank->input, rank->ranks->base, master, err);
}

/* Returns the end that the rank writes to. */
static int open_stream(struct rank *rank, struct stream *stream, enum frame_stream which,
                       struct error *err)
{
    struct ranks *ranks = rank->ranks;
    int           fd = stream_open(stream, ranks->base, which, 2 * ranks->count, err);

    if (fd >= 0)
        set_stream(rank, stream);
    return fd;
}

static void set_stream(struct rank *rank, struct stream *stream)
{
    struct ranks *ranks = rank->ranks;

    step_watch_begin(&stream->steps, ranks->progress);
    stream->log = rank->log;
    stream->to_frames = ranks->plan->log_dir == NULL || ranks->plan->log_console;
    stream->changed = ranks->ops->output;
    stream->arg = ranks->arg;
}

bool rank_clear(struct rank *rank)
{
    input_close(&rank->input);
    stream_close(&rank->out);
    stream_close(&rank->err);
    pmi_close(rank);
    if (rank->late != NULL)
        event_free(rank->late);
    strlist_clear(&rank->env);
    free(rank->path);
    return log_file_free(rank->log);
}

/* The rank has reported why, or was killed. */
void rank_explain(const struct rank *rank, struct failure *failure)
{
    const struct spawn_failure *its = &rank->end.failure;
    struct error                why;
    int                         code = EXIT_LOST;

    if (its->step != SPAWN_OK)
        code = spawn_explain(its, rank->path, rank->ranks->plan->cwd, &why);
    else
        err_set(&why, "rank %u was killed by %s before it started", rank->plan->rank,
                signal_name(WIFSIGNALED(rank->end.value) ? WTERMSIG(rank->end.value) : SIGKILL)
                    .text);
    limits_failure(failure, its->error, "%s", why.text);
    if (failure->hint[0] == '\0')
        failure->code = code;
}

void rank_stands(struct rank *rank)
{
    rank->state = RANK_STANDING;
}

void rank_started(struct rank *rank, const struct guard_message *message)
{
    rank->state = RANK_RUNNING;
    rank->pid = message->pid;
    rank->started_ns = message->at_ns;
    tell(rank, FRAME_STARTED,
         json_pack("{s:i, s:I}", "pid", message->pid, "at_ns", (json_int_t)message->at_ns));
    stream_begin(&rank->out);
    stream_begin(&rank->err);
}

void rank_ended(struct rank *rank, const struct guard_message *message)
{
    const struct timeval limit = { .tv_usec = RANK_LATE_MS * 1000 };

    rank->state = RANK_ENDED;
    rank->end = *message;
    input_close(&rank->input);
    if (!rank->ranks->has_begun) {
        stream_close(&rank->out);
        stream_close(&rank->err);
    }
    stream_begin(&rank->out); /* if the rank was not executed, they only end */
    stream_begin(&rank->err);
    pmi_hear_out(rank);
    rank->late = evtimer_new(rank->ranks->base, late_cb, rank);
    if (rank->late == NULL)
        xalloc_die();
    xevent_add(rank->late, &limit);
    rank->input.changed(rank->input.arg);
    rank_maybe_report(rank);
}

void rank_cancel(struct rank *rank, int signal)
{
    struct guard_message message = { .value = signal, .at_ns = clock_now_ns() };

    rank_ended(rank, &message);
}

void rank_maybe_report(struct rank *rank)
{
    if (rank->state != RANK_ENDED || (!rank_is_silent(rank) && !rank->is_late))
        return;
    rank->state = RANK_REPORTED;
    event_del(rank->late);
    if (rank->ranks->has_begun) /* else there is nothing to report: the rank never started */
        tell(rank, FRAME_EXIT, report(rank));
}

static void tell(struct rank *rank, enum frame_type type, json_t *body)
{
    rank->ranks->ops->tell(type, rank->plan->rank, body, rank->ranks->arg);
}

/* A rank may write its steps to stdout, and a bar to stderr. */
bool rank_take_steps(struct rank *rank, struct rank_steps *steps)
{
    const struct step_watch *out = &rank->out.steps, *err = &rank->err.steps;
    bool                     is_new;

    *steps = (struct rank_steps){ .exact = step_watch_more_exact(out, err),
                                  .latest = err->at_ns > out->at_ns ? err : out,
                                  .count = out->count + err->count };
    if (rank->called.count > 0)
        *steps = (struct rank_steps){ &rank->called, &rank->called, rank->called.count };
    is_new = steps->count != rank->steps_told;
    rank->steps_told = steps->count;
    return is_new;
}

const struct step_watch *rank_loss(const struct rank *rank)
{
    const struct step_watch *out = &rank->out.steps, *err = &rank->err.steps;

    return out->has_loss ? out : err->has_loss ? err : NULL;
}

int64_t rank_step_before(const struct rank *rank, int64_t at_ns)
{
    int64_t out_ns = step_watch_before(&rank->out.steps, at_ns);
    int64_t err_ns = step_watch_before(&rank->err.steps, at_ns);

    if (rank->called.count > 0)
        return step_watch_before(&rank->called, at_ns);
    return out_ns > err_ns ? out_ns : err_ns;
}

void rank_step(struct rank *rank, int64_t step, int64_t last)
{
    step_watch_call(&rank->called, step, last, clock_now_ns());
}

bool rank_is_silent(const struct rank *rank)
{
    return (rank->out.waiting == NULL || rank->out.end_sent) &&
           (rank->err.waiting == NULL || rank->err.end_sent);
}

bool rank_is_closed(const struct rank *rank)
{
    return rank->out.fd < 0 && rank->err.fd < 0;
}

void rank_give_up(struct rank *rank)
{
    stream_give_up(&rank->out);
    stream_give_up(&rank->err);
}

static int pmi_open(struct rank *rank, struct error *err)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, "cannot make a PMI socket: %s", strerror(errno));
    fd_set_nonblock(pair[0]);
    rank->pmi = bufferevent_socket_new(rank->ranks->base, pair[0], BEV_OPT_CLOSE_ON_FREE);
    if (rank->pmi == NULL)
        xalloc_die();
    bufferevent_setcb(rank->pmi, pmi_readable_cb, NULL, pmi_event_cb, rank);
    bufferevent_setwatermark(rank->pmi, EV_READ, 0, PMI_UNREAD_MAX); /* pending requests */
    bufferevent_enable(rank->pmi, EV_READ);
    return pair[1];
}

/* Handles a rank's last requests: the guard may report its end before we have read them,
 * and one may be an abort. */
static void pmi_hear_out(struct rank *rank)
{
    struct evbuffer *in;

    if (rank->pmi == NULL)
        return;
    in = bufferevent_get_input(rank->pmi);
    evbuffer_unfreeze(in, 0); /* else only libevent may add to it */
    if (fd_read_buffer(bufferevent_getfd(rank->pmi), in, PMI_UNHEARD_MAX) > 0)
        pmi_readable_cb(rank->pmi, rank);
    pmi_close(rank);
}

void rank_resize(struct rank *rank, int rows, int columns)
{
    if (rank->out.is_terminal && rank->out.fd >= 0)
        pty_resize(rank->out.fd, rows, columns);
}

void rank_shard_answer(struct rank *rank, const void *line, size_t size)
{
    if (rank->pmi == NULL)
        return;
    pmi_shard_answer(rank->ranks->pmi, rank->index, line, size,
                     bufferevent_get_output(rank->pmi));
    if (evbuffer_get_length(bufferevent_get_input(rank->pmi)) > 0)
        pmi_readable_cb(rank->pmi, rank);
}

/* If a rank does not speak PMI, closes its connection; the user reads why. A rank that does not
 * use PMI loses nothing. */
static void pmi_readable_cb(struct bufferevent *event, void *arg)
{
    struct rank  *rank = arg;
    struct error  err;
    int           rc = pmi_input(rank->ranks->pmi, rank->index, bufferevent_get_input(event),
                                 bufferevent_get_output(event), &err);

    if (rc == 0 && evbuffer_get_length(bufferevent_get_output(event)) > PMI_UNREAD_MAX)
        rc = err_set(&err, "%u KiB of answers are unread", PMI_UNREAD_MAX >> 10);
    if (rc == 0)
        return;
    tell(rank, FRAME_KVS, json_pack("{s:o}", "closed", json_text(err.text, strlen(err.text))));
    pmi_close(rank);
}

static void pmi_event_cb(struct bufferevent *event, short what, void *arg)
{
    (void)event, (void)what;
    pmi_close(arg);
}

static void pmi_close(struct rank *rank)
{
    if (rank->pmi != NULL)
        bufferevent_free(rank->pmi);
    rank->pmi = NULL;
}

static void log_changed(void *arg)
{
    struct rank *rank = arg;

    stream_log_changed(&rank->out);
    stream_log_changed(&rank->err);
    rank->ranks->ops->log_changed(rank->ranks->arg);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct rank *rank = arg;

    (void)fd, (void)what;
    rank->is_late = true;
    rank_maybe_report(rank);
    rank->ranks->ops->output(rank->ranks->arg);
}

static json_t *report(struct rank *rank)
{
    struct ranks *ranks = rank->ranks;
    int           status = rank->end.value;
    bool          unfinished = ranks->pmi != NULL && pmi_is_unfinished(ranks->pmi, rank->index);
    char          oom[128];
    json_t       *body = json_pack("{s:I, s:I}", "at_ns", (json_int_t)rank->end.at_ns,
                                   "maxrss_kb", (json_int_t)rank->end.maxrss_kb);

    if (rank->end.failure.step != SPAWN_OK) {
        report_failure(rank, body);
    } else if (WIFSIGNALED(status)) {
        json_object_set_new(body, "signal", json_integer(WTERMSIG(status)));
        json_object_set_new(body, "core", json_boolean(WCOREDUMP(status)));
    } else {
        json_object_set_new(body, "code", json_integer(WEXITSTATUS(status) == 0 && unfinished
                                                           ? 1 : WEXITSTATUS(status)));
    }
    if (unfinished)
        json_object_set_new(body, "pmi", json_string("unfinished"));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && ranks->stopped_ns == 0 &&
        oom_evidence(&ranks->memory, oom, sizeof oom))
        json_object_set_new(body, "oom", json_string(oom));
    if (!rank_is_silent(rank))
        json_object_set_new(body, "late", json_true());
    /* The guard's time and ours come from one clock, so this is exact: the launcher cannot
     * compare the clocks of two machines. */
    if (ranks->stopped_ns != 0 && rank->end.at_ns >= ranks->stopped_ns)
        json_object_set_new(body, "stopped", json_true());
    return body;
}

static void report_failure(struct rank *rank, json_t *body)
{
    struct error why;
    int          code = spawn_explain(&rank->end.failure, rank->path, rank->ranks->plan->cwd, &why);

    json_object_set_new(body, "code", json_integer(code));
    json_object_set_new(body, "error", json_text(why.text, strlen(why.text)));
}
