/* event_hook.c - see event_hook.h
 *
 * A timer looks at the process: that is enough, and a program that prints without end takes no more
 * of muster's time than OUTPUT_MAX bytes a look; meanwhile it waits in its write(). Its input is a
 * file in memory, so that muster need not wait until it reads.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hook/event_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "err.h"
#include "fd.h"
#include "hook/event_log.h"
#include "hook/event_queue.h"
#include "log.h"
#include "transport/children.h"
#include "xalloc.h"
#include "xevent.h"

#define LOOK_S     0.02
#define EXEC_FD    3 /* of the child */
#define OUTPUT_MAX (64 * 1024) /* bytes of output that are read at a look: the capacity of a pipe */

struct event_hook {
    const char        *program, *dir;
    struct event_queue queue;
    struct event_log  *log;
    struct event      *look; /* pending while there is something to do */
    bool               has_warned;
    unsigned           told, failed; /* events; those that were dropped are in the queue */

    struct event_hook_limits limits;

    /* The process. */
    pid_t   pid;     /* 0: none */
    json_t *event;   /* that it was started for */
    int     out_fd;  /* what it prints; -1: nothing more */
    int     exec_fd; /* an errno if it cannot be executed */
    int64_t start_ns, term_ns, kill_ns; /* of these signals; 0: not sent */
};

static void        look_cb(evutil_socket_t fd, short what, void *arg);
static void        look_soon(struct event_hook *hook, double seconds);
static void        start(struct event_hook *hook, json_t *event);
static int         spawn(struct event_hook *hook, struct error *err);
static int         input_of(const json_t *event, struct error *err);
static void        become_program(const char *program, int in_fd, int out_fd, int exec_fd)
    __attribute__((noreturn));
static void        close_from(int first);
static void        send_signal(const struct event_hook *hook, int number);
static int         exec_error(const struct event_hook *hook);
static void        read_output(struct event_hook *hook);
static bool        has_exited(const struct event_hook *hook);
static void        keep_to_deadline(struct event_hook *hook);
static void        over(struct event_hook *hook);
static bool        end_words(const struct event_hook *hook, int status, struct error *why);
static void        fail(struct event_hook *hook, const struct error *why);
static void        forget(struct event_hook *hook);
static const char *name_of(const json_t *event);
static double      since_s(int64_t from_ns);

struct event_hook *event_hook_new(struct event_base *base, const char *program, const char *dir,
                                  int dir_fd, const struct event_hook_limits *limits)
{
    struct event_hook *hook = xcalloc(1, sizeof *hook);

    *hook = (struct event_hook){ .program = program, .dir = dir, .limits = *limits,
                                 .out_fd = -1, .exec_fd = -1 };
    hook->log = event_log_new(dir_fd);
    hook->look = xevent_new(base, -1, look_cb, hook);
    return hook;
}

void event_hook_free(struct event_hook *hook)
{
    if (hook == NULL)
        return;
    if (hook->pid > 0) {
        send_signal(hook, SIGKILL);
        children_ending(hook->pid);
        forget(hook);
    }
    event_free(hook->look);
    event_queue_clear(&hook->queue);
    event_log_free(hook->log);
    free(hook);
}

void event_hook_put(struct event_hook *hook, json_t *event)
{
    event_queue_put(&hook->queue, event);
    if (hook->pid == 0)
        look_soon(hook, 0);
}

struct event_hook_counts event_hook_counts(const struct event_hook *hook)
{
    return (struct event_hook_counts){ hook->told, hook->failed, hook->queue.lost };
}

bool event_hook_is_idle(const struct event_hook *hook)
{
    return hook->pid == 0 && hook->queue.count == 0;
}

void event_hook_hurry(struct event_hook *hook)
{
    if (hook->queue.count == 0)
        return;
    event_queue_keep_last(&hook->queue);
    if (hook->pid == 0 || hook->kill_ns != 0)
        return;
    send_signal(hook, SIGKILL);
    hook->kill_ns = clock_now_ns();
}

static void look_soon(struct event_hook *hook, double seconds)
{
    const struct timeval after = clock_interval(seconds);

    xevent_add(hook->look, &after);
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    struct event_hook *hook = arg;
    json_t            *event;

    (void)fd, (void)what;
    if (hook->pid > 0) {
        read_output(hook);
        if (has_exited(hook))
            over(hook);
        else
            keep_to_deadline(hook);
    }
    while (hook->pid == 0 && (event = event_queue_take(&hook->queue)) != NULL)
        start(hook, event);
    if (hook->pid > 0)
        look_soon(hook, LOOK_S);
}

/* --- the start -------------------------------------------------------------- */

/* Takes over event. */
static void start(struct event_hook *hook, json_t *event)
{
    struct error why;

    hook->event = event;
    if (spawn(hook, &why) == 0)
        return;
    event_queue_missed(&hook->queue, event);
    fail(hook, &why);
    forget(hook);
}

/* Whether it could be executed is known later (exec_fd): on a file system that hangs, that may take
 * for ever. */
static int spawn(struct event_hook *hook, struct error *err)
{
    int in_fd = input_of(hook->event, err), out[2], exec[2];

    if (in_fd < 0)
        return -1;
    if (pipe2(out, O_CLOEXEC) < 0) {
        err_set(err, "cannot create a pipe: %s", strerror(errno));
        close(in_fd);
        return -1;
    }
    if (pipe2(exec, O_CLOEXEC) < 0) {
        err_set(err, "cannot create a pipe: %s", strerror(errno));
        close(in_fd);
        close(out[0]);
        close(out[1]);
        return -1;
    }
    hook->pid = child_fork();
    if (hook->pid == 0)
        become_program(hook->program, in_fd, out[1], exec[1]);
    if (hook->pid < 0)
        err_set(err, "cannot be started: %s", strerror(errno));
    close(in_fd);
    close(out[1]);
    close(exec[1]);
    fd_set_nonblock(out[0]);
    fd_set_nonblock(exec[0]);
    hook->out_fd = out[0];
    hook->exec_fd = exec[0];
    hook->start_ns = clock_now_ns();
    return hook->pid < 0 ? -1 : 0;
}

/* Returns a descriptor from which the event is read. */
static int input_of(const json_t *event, struct error *err)
{
    int    fd = memfd_create("muster-event", MFD_CLOEXEC), error = errno;
    char  *text = json_dumps(event, JSON_COMPACT);
    size_t size;

    if (text == NULL)
        xalloc_die();
    size = strlen(text);
    text[size] = '\n'; /* in place of the NUL */
    if (fd >= 0 && (fd_write_all(fd, text, size + 1) != size + 1 || lseek(fd, 0, SEEK_SET) < 0)) {
        error = errno;
        close(fd);
        fd = -1;
    }
    free(text);
    return fd >= 0 ? fd : err_set(err, "no memory for its input: %s", strerror(error));
}

/* Uses only async-signal-safe calls, because the launcher has other threads. Our own descriptors
 * are closed on exec; those that muster has inherited need not be. */
static void become_program(const char *program, int in_fd, int out_fd, int exec_fd)
{
    char *const argv[] = { (char *)program, NULL };
    int         error;

    setsid();
    child_signals_begin();
    if (dup2(in_fd, STDIN_FILENO) >= 0 && dup2(out_fd, STDOUT_FILENO) >= 0 &&
        dup2(out_fd, STDERR_FILENO) >= 0 &&
        (exec_fd == EXEC_FD || dup3(exec_fd, EXEC_FD, O_CLOEXEC) >= 0)) {
        close_from(EXEC_FD + 1);
        execv(program, argv);
        exec_fd = EXEC_FD;
    }
    error = errno;
    if (write(exec_fd, &error, sizeof error) < 0)
        _exit(126);
    _exit(127);
}

static void close_from(int first)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    close_range((unsigned)first, ~0u, 0);
#else
    (void)first;
#endif
}

/* --- while it runs ---------------------------------------------------------- */

static void read_output(struct event_hook *hook)
{
    static char bytes[OUTPUT_MAX];
    ssize_t     n;

    if (hook->out_fd < 0)
        return;
    n = read(hook->out_fd, bytes, sizeof bytes);
    if (n > 0) {
        event_log_add(hook->log, name_of(hook->event), bytes, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(hook->out_fd);
        hook->out_fd = -1;
    }
}

/* Leaves the process a zombie, so that no other process group gets its number. */
static bool has_exited(const struct event_hook *hook)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)hook->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid == hook->pid;
}

static void keep_to_deadline(struct event_hook *hook)
{
    if (hook->term_ns == 0 && since_s(hook->start_ns) >= hook->limits.run_s) {
        send_signal(hook, SIGTERM);
        hook->term_ns = clock_now_ns();
    } else if (hook->term_ns != 0 && hook->kill_ns == 0 &&
               since_s(hook->term_ns) >= hook->limits.term_s) {
        send_signal(hook, SIGKILL);
        hook->kill_ns = clock_now_ns();
    }
}

/* Its process group is there a moment after it. */
static void send_signal(const struct event_hook *hook, int number)
{
    if (kill(-hook->pid, number) < 0)
        kill(hook->pid, number);
}

/* What it has printed last may still be in the pipe. */
static void over(struct event_hook *hook)
{
    struct error why;
    int          status = 0, error = exec_error(hook);

    kill(-hook->pid, SIGKILL); /* what it has started */
    waitpid(hook->pid, &status, 0);
    read_output(hook);
    if (error != 0) {
        event_queue_missed(&hook->queue, hook->event);
        err_set(&why, "cannot be started: %s", strerror(error));
        fail(hook, &why);
    } else if (end_words(hook, status, &why)) {
        event_log_end(hook->log, name_of(hook->event), NULL);
        hook->told++;
    } else {
        fail(hook, &why);
    }
    forget(hook);
}

/* Returns why it could not be executed; 0: it was. */
static int exec_error(const struct event_hook *hook)
{
    int error = 0;

    return read(hook->exec_fd, &error, sizeof error) == (ssize_t)sizeof error ? error : 0;
}

/* False: it has failed, as why says. */
static bool end_words(const struct event_hook *hook, int status, struct error *why)
{
    if (hook->term_ns != 0)
        err_set(why, "killed, since it had not exited after %g s", hook->limits.run_s);
    else if (hook->kill_ns != 0)
        err_set(why, "killed, since the run has ended");
    else if (WIFSIGNALED(status))
        err_set(why, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        err_set(why, "exit %d", WEXITSTATUS(status));
    else
        return true;
    return false;
}

static void fail(struct event_hook *hook, const struct error *why)
{
    const char *event = name_of(hook->event);
    const char *last = event_log_end(hook->log, event, why->text);
    bool        has_last = last[0] != '\0';

    hook->failed++;
    if (hook->has_warned)
        return;
    hook->has_warned = true;
    log_warn("--on-event %s: event %s: %s%s%s%s; %s%s%s", hook->program, event, why->text,
             has_last ? " (" : "", last, has_last ? ")" : "",
             hook->dir != NULL ? "later failures are only in " : "later failures are not shown",
             hook->dir != NULL ? hook->dir : "", hook->dir != NULL ? "/" EVENT_LOG_NAME : "");
}

static void forget(struct event_hook *hook)
{
    if (hook->out_fd >= 0)
        close(hook->out_fd);
    if (hook->exec_fd >= 0)
        close(hook->exec_fd);
    json_decref(hook->event);
    hook->event = NULL;
    hook->out_fd = hook->exec_fd = -1;
    hook->pid = 0;
    hook->start_ns = hook->term_ns = hook->kill_ns = 0;
}

static const char *name_of(const json_t *event)
{
    return json_string_value(json_object_get(event, "event"));
}

static double since_s(int64_t from_ns)
{
    return (double)(clock_now_ns() - from_ns) / NS_PER_S;
}
