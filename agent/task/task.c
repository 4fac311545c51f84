/* task.c - see task.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "task/task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "clock.h"
#include "fd.h"
#include "frame.h"
#include "node/own_limits.h"
#include "node/process.h"
#include "xalloc.h"
#include "xevent.h"

#define OUTPUT_FD  3    /* in the child */
#define LOOK_S     0.01 /* between two checks for its exit, once its pipe is closed */
#define FREE_LOOKS 100  /* of 10 ms each, in task_free() */

struct task {
    struct task_request    request;
    const struct task_ops *ops;
    void                  *arg;
    pid_t                  pid; /* 0: reaped, or abandoned */
    struct evbuffer       *in;
    struct event          *readable, *late, *look;
    size_t                 lines, bytes, dropped;
    bool                   skips; /* skips the rest of a line that is too long */
    bool                   timed_out, is_over;
};

static pid_t killed_session; /* for is_of_session() */

static void child_run(const struct task_request *request, const json_t *body, int fd, pid_t parent)
    __attribute__((noreturn));
static void readable_cb(evutil_socket_t fd, short what, void *arg);
static void take_lines(struct task *task);
static void take_line(struct task *task, char *line, size_t size);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void look_cb(evutil_socket_t fd, short what, void *arg);
static bool has_ended(const struct task *task);
static void kill_session(pid_t session);
static bool is_of_session(pid_t pid);
static void end(struct task *task, bool is_stuck);

int task_request_read(struct task_request *request, const json_t *body,
                      const struct task_row *table, struct error *err)
{
    const char   *name = json_string_value(json_object_get(body, "task"));
    const json_t *id = json_object_get(body, "id"), *s = json_object_get(body, "deadline_s");

    if (name == NULL)
        return err_set(err, "TASK frame: \"task\" is not a string");
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > UINT32_MAX)
        return err_set(err, "TASK frame: \"id\" is not a number");
    if (!json_is_number(s) || !(json_number_value(s) > 0) ||
        json_number_value(s) > TASK_DEADLINE_MAX_S)
        return err_set(err, "TASK frame: \"deadline_s\" is not from 0 to %g", TASK_DEADLINE_MAX_S);
    for (; table->name != NULL; table++) {
        if (strcmp(table->name, name) != 0)
            continue;
        *request =
            (struct task_request){ table, (uint32_t)json_integer_value(id), json_number_value(s) };
        return 0;
    }
    return err_set(err, "TASK frame: there is no task \"%.64s\"", name);
}

struct task *task_begin(struct event_base *base, const struct task_request *request,
                        const json_t *body, const struct task_ops *ops, void *arg,
                        struct error *err)
{
    const struct timeval limit = clock_interval(request->deadline_s);
    struct task         *task;
    pid_t                pid, self = getpid();
    int                  pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0) {
        err_set(err, "pipe: %s", strerror(errno));
        return NULL;
    }
    pid = fork();
    if (pid == 0)
        child_run(request, body, pair[1], self);
    close(pair[1]);
    if (pid < 0) {
        err_set(err, "cannot fork: %s", strerror(errno));
        close(pair[0]);
        return NULL;
    }
    task = xcalloc(1, sizeof *task);
    *task = (struct task){
        .request = *request, .ops = ops, .arg = arg, .pid = pid, .in = evbuffer_new()
    };
    if (task->in == NULL)
        xalloc_die();
    fd_set_nonblock(pair[0]);
    task->readable = xevent_new(base, pair[0], readable_cb, task);
    task->late = xevent_new(base, -1, late_cb, task);
    task->look = xevent_new(base, -1, look_cb, task);
    xevent_watch(task->readable, EV_READ);
    xevent_add(task->late, &limit);
    return task;
}

void task_signal(const struct task *task, int signal)
{
    if (task->pid > 0)
        kill(task->pid, signal);
}

bool task_is_over(const struct task *task)
{
    return task->is_over;
}

pid_t task_stuck(const struct task *task)
{
    return task->is_over ? task->pid : 0;
}

/* Leaves a child that is stuck in the kernel to init. */
void task_free(struct task *task)
{
    const struct timespec pause = { .tv_nsec = (long)(LOOK_S * NS_PER_S) };
    int                   i, fd;

    if (task == NULL)
        return;
    if (task->pid > 0)
        kill_session(task->pid);
    for (i = 0; task->pid > 0 && !has_ended(task) && i < FREE_LOOKS; i++)
        nanosleep(&pause, NULL);
    if (task->pid > 0)
        waitpid(task->pid, NULL, WNOHANG);
    fd = event_get_fd(task->readable);
    event_free(task->readable);
    close(fd);
    event_free(task->late);
    event_free(task->look);
    evbuffer_free(task->in);
    free(task);
}

/* Runs in the child, which has no descriptors of the agent, and the limits that ranks have. */
static void child_run(const struct task_request *request, const json_t *body, int fd, pid_t parent)
{
    struct task_output out = { OUTPUT_FD };
    sigset_t           none;
    int                null = open("/dev/null", O_RDWR | O_CLOEXEC), i;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || null < 0)
        _exit(EXIT_FAILURE);
    for (i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        dup2(null, i);
    if (fd != OUTPUT_FD)
        dup2(fd, OUTPUT_FD);
    fd_close_from(OUTPUT_FD + 1);
    fcntl(OUTPUT_FD, F_SETFD, FD_CLOEXEC);
    own_limits_undo();
    _exit(request->row->run(body, &out));
}

static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct task *task = arg;
    ssize_t      got = fd_read_buffer(fd, task->in, 2 * FRAME_TASK_LINE_MAX);

    (void)what;
    if (got > 0)
        take_lines(task);
    if (got > 0 || (got < 0 && errno == EAGAIN))
        return;
    event_del(task->readable);
    look_cb(-1, 0, task);
}

static void take_lines(struct task *task)
{
    size_t size;
    char  *line;

    while ((line = evbuffer_readln(task->in, &size, EVBUFFER_EOL_LF)) != NULL) {
        if (!task->skips)
            take_line(task, line, size);
        task->skips = false;
        free(line);
    }
    if (evbuffer_get_length(task->in) <= FRAME_TASK_LINE_MAX)
        return;
    task->dropped += !task->skips;
    task->skips = true;
    evbuffer_drain(task->in, evbuffer_get_length(task->in));
}

static void take_line(struct task *task, char *line, size_t size)
{
    json_t *body = NULL;

    if (size <= FRAME_TASK_LINE_MAX && task->lines < FRAME_TASK_LINES_MAX &&
        task->bytes + size <= FRAME_TASK_BYTES_MAX)
        body = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(body)) {
        json_decref(body);
        task->dropped++;
        return;
    }
    task->lines++;
    task->bytes += size;
    task->ops->line(json_pack("{s:I, s:o}", "id", (json_int_t)task->request.id, "line", body),
                    task->arg);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct task   *task = arg;
    struct timeval limit = clock_interval(TASK_STUCK_S);

    (void)fd, (void)what;
    if (task->timed_out) {
        end(task, true);
        return;
    }
    task->timed_out = true;
    kill_session(task->pid);
    xevent_add(task->late, &limit);
}

/* The child has closed its pipe: it is about to exit. */
static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    struct task   *task = arg;
    struct timeval pause = clock_interval(LOOK_S);

    (void)fd, (void)what;
    if (has_ended(task))
        end(task, false);
    else
        xevent_add(task->look, &pause);
}

/* Does not reap the child: until that, no other session can have its number. */
static bool has_ended(const struct task *task)
{
    siginfo_t info = { .si_pid = 0 };

    return waitid(P_PID, (id_t)task->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid != 0;
}

/* Kills the child, and processes that it has started in its session. The session is checked
 * twice: before a process is read, which takes long if there are thousands, and after it, when
 * it is certain which process was checked. */
static void kill_session(pid_t session)
{
    struct processes all;
    size_t           i;

    kill(session, SIGKILL); /* first, so that it starts no more processes */
    killed_session = session;
    processes_wanted(&all, is_of_session);
    for (i = 0; i < all.count; i++)
        if (is_of_session(all.item[i].pid))
            process_signal(&all.item[i], SIGKILL);
    processes_clear(&all);
}

static bool is_of_session(pid_t pid)
{
    return pid != killed_session && getsid(pid) == killed_session;
}

static void end(struct task *task, bool is_stuck)
{
    json_t *body = json_pack("{s:I, s:b, s:I}", "id", (json_int_t)task->request.id, "timed_out",
                             task->timed_out, "dropped", (json_int_t)task->dropped);
    int     status = 0;

    event_del(task->readable);
    event_del(task->late);
    event_del(task->look);
    if (!is_stuck) {
        kill_session(task->pid);
        waitpid(task->pid, &status, 0);
        task->pid = 0;
    }
    if (is_stuck || WIFSIGNALED(status))
        json_object_set_new(body, "signal", json_integer(is_stuck ? SIGKILL : WTERMSIG(status)));
    else
        json_object_set_new(body, "status", json_integer(WEXITSTATUS(status)));
    task->is_over = true;
    task->ops->end(body, task->arg);
}
