/* conn_exec.c - an agent on this machine: forked here, over a socket pair
 *
 * The agent gets its own session, so that Ctrl-C in the terminal reaches only muster, which
 * then decides. The agent exits when its socket is closed, so it also notices when muster is
 * killed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "err.h"
#include "exit_code.h"
#include "frame.h"
#include "transport/agent_file.h"
#include "transport/agent_start.h"
#include "transport/children.h"
#include "transport/conn.h"
#include "transport/nonce.h"
#include "xalloc.h"
#include "xevent.h"

#define STDERR_MAX 4096 /* bytes from the end of the agent's stderr, for error messages */
#define LEAVE_S     5    /* after its stream has ended; then the agent is killed */
#define KILLED_S    1    /* for the killed agent to exit; a hung file system may prevent that */

struct conn_exec {
    struct conn      conn; /* first, so that the two convert */
    char            *agent_path;
    double           timeout_s;
    struct event_base *base;
    struct evbuffer *in, *out;
    struct event    *readable, *writable, *err_readable, *late, *reap;
    int64_t          leave_until_ns;
    int              fd, err_fd;
    pid_t            pid;
    bool             is_open; /* nonce seen */
    char             nonce[FRAME_NONCE_CHARS + 1];
    char             stderr_text[STDERR_MAX];
    size_t           stderr_size;
};

static void exec_start(struct conn *conn);
static void exec_write(struct conn *conn, struct evbuffer *from);
static size_t exec_unwritten(const struct conn *conn);
static void exec_free(struct conn *conn);

static const struct conn_kind kind = {
    .start = exec_start,
    .write = exec_write,
    .unwritten = exec_unwritten,
    .free = exec_free,
};

static void failed_cb(evutil_socket_t fd, short what, void *arg);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static int  spawn(struct conn_exec *c);
static void become_agent(const struct conn_exec *c, int fd, int err_fd);
static void writable_cb(evutil_socket_t fd, short what, void *arg);
static void readable_cb(evutil_socket_t fd, short what, void *arg);
static int  take_nonce(struct conn_exec *c);
static void stderr_cb(evutil_socket_t fd, short what, void *arg);
static void agent_ended(struct conn_exec *c);
static void reap_cb(evutil_socket_t fd, short what, void *arg);
static void end(struct conn_exec *c, int exit_code, const char *text);
static void drop_event(struct event **event);

struct conn *conn_exec_new(struct event_base *base, const struct conn_target *target,
                           const struct agent_file *agent, const struct conn_ops *ops, void *arg)
{
    struct conn_exec *c = xcalloc(1, sizeof *c);

    c->conn = (struct conn){ .kind = &kind, .ops = ops, .arg = arg };
    c->agent_path = xstrdup(agent->path);
    c->timeout_s = target->connect_timeout_s;
    c->base = base;
    c->in = evbuffer_new();
    c->out = evbuffer_new();
    c->fd = c->err_fd = -1;
    return &c->conn;
}

static void exec_start(struct conn *conn)
{
    struct conn_exec *c = (struct conn_exec *)conn;
    struct timeval    limit = clock_interval(c->timeout_s);

    if (spawn(c) < 0) {
        /* Report from the event loop, not from here: closed() may free us. */
        snprintf(c->stderr_text, sizeof c->stderr_text, "%s", strerror(errno));
        c->stderr_size = strlen(c->stderr_text);
        limit = (struct timeval){ 0 };
        c->late = event_new(c->base, -1, 0, failed_cb, c);
        xevent_add(c->late, &limit);
        return;
    }
    c->late = event_new(c->base, -1, 0, late_cb, c);
    xevent_add(c->late, &limit);
    c->readable = event_new(c->base, c->fd, EV_READ | EV_PERSIST, readable_cb, c);
    c->writable = event_new(c->base, c->fd, EV_WRITE, writable_cb, c);
    c->err_readable = event_new(c->base, c->err_fd, EV_READ | EV_PERSIST, stderr_cb, c);
    c->reap = event_new(c->base, -1, 0, reap_cb, c);
    xevent_add(c->readable, NULL);
    xevent_add(c->err_readable, NULL);
}

static void failed_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    end(arg, EXIT_INTERNAL, "cannot start muster-agent");
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    end(arg, EXIT_WAITED, "muster-agent did not answer in time");
}

static int spawn(struct conn_exec *c)
{
    int pair[2], err_pipe[2];

    if (nonce_make(c->nonce) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    if (pipe2(err_pipe, O_CLOEXEC) < 0) {
        close(pair[0]);
        close(pair[1]);
        return -1;
    }
    c->pid = child_fork();
    if (c->pid == 0)
        become_agent(c, pair[1], err_pipe[1]);
    close(pair[1]);
    close(err_pipe[1]);
    c->fd = pair[0];
    c->err_fd = err_pipe[0];
    evutil_make_socket_nonblocking(c->fd);
    evutil_make_socket_nonblocking(c->err_fd);
    return c->pid < 0 ? -1 : 0;
}

/* Uses only async-signal-safe calls, because the launcher has other threads. */
static void become_agent(const struct conn_exec *c, int fd, int err_fd)
{
    char *argv[] = { (char *)"muster-agent", (char *)"--nonce", (char *)c->nonce, NULL };

    setsid();
    child_signals_begin();
    if (dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0 &&
        dup2(err_fd, STDERR_FILENO) >= 0)
        execv(c->agent_path, argv);
    dprintf(STDERR_FILENO, "%s: %s", c->agent_path, strerrordesc_np(errno));
    _exit(126);
}

static void exec_write(struct conn *conn, struct evbuffer *from)
{
    struct conn_exec *c = (struct conn_exec *)conn;

    evbuffer_add_buffer(c->out, from);
    if (c->writable != NULL)
        xevent_add(c->writable, NULL);
}

static size_t exec_unwritten(const struct conn *conn)
{
    return evbuffer_get_length(((const struct conn_exec *)conn)->out);
}

static void writable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_exec *c = arg;

    (void)what;
    /* An error means that the agent has died, and reading will report it. If the agent is alive
     * after all, it must not wait for bytes that cannot come. */
    if (evbuffer_write(c->out, fd) < 0 && errno != EAGAIN && errno != EINTR) {
        evbuffer_drain(c->out, evbuffer_get_length(c->out));
        shutdown(fd, SHUT_WR);
    }
    if (evbuffer_get_length(c->out) > 0)
        xevent_add(c->writable, NULL);
}

static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_exec *c = arg;
    int               n = evbuffer_read(c->in, fd, 256 * 1024);

    (void)what;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        agent_ended(c);
        return;
    }
    if (!c->is_open) {
        n = take_nonce(c);
        if (n < 0)
            end(c, EXIT_PROTOCOL, "muster-agent did not begin with its nonce");
        if (n <= 0)
            return;
        c->is_open = true;
        event_del(c->late);
        c->conn.ops->stage("open", c->conn.arg);
        c->conn.ops->open(c->conn.arg);
    }
    if (evbuffer_get_length(c->in) > 0)
        c->conn.ops->input(c->in, c->conn.arg);
}

/* Only the nonce is expected before the frames: no login shell is involved. */
static int take_nonce(struct conn_exec *c)
{
    char head[FRAME_NONCE_CHARS + 1];

    if (evbuffer_copyout(c->in, head, sizeof head) < (ev_ssize_t)sizeof head)
        return 0;
    if (memcmp(head, c->nonce, FRAME_NONCE_CHARS) != 0 || head[FRAME_NONCE_CHARS] != '\n')
        return -1;
    evbuffer_drain(c->in, sizeof head);
    return 1;
}

static void stderr_cb(evutil_socket_t fd, short what, void *arg)
{
    struct conn_exec *c = arg;
    char              text[STDERR_MAX];
    ssize_t           n = read(fd, text, sizeof text);
    size_t            keep;

    (void)what;
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN)
            event_del(c->err_readable);
        return;
    }
    keep = c->stderr_size;
    if (keep + (size_t)n > sizeof c->stderr_text)
        keep = sizeof c->stderr_text - (size_t)n;
    memmove(c->stderr_text, c->stderr_text + c->stderr_size - keep, keep);
    memcpy(c->stderr_text + keep, text, (size_t)n);
    c->stderr_size = keep + (size_t)n;
}

/* The socket is closed, so the agent exits. Wait for it, but not forever. */
static void agent_ended(struct conn_exec *c)
{
    event_del(c->readable);
    shutdown(c->fd, SHUT_RDWR); /* after an error the agent may not know yet */
    c->leave_until_ns = clock_now_ns() + LEAVE_S * NS_PER_S;
    reap_cb(-1, EV_TIMEOUT, c);
}

static void reap_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval pause = { .tv_usec = 2000 };
    struct conn_exec    *c = arg;
    char                 text[160], words[AGENT_END_MAX];
    int                  status = 0;

    (void)fd;
    (void)what;
    if (waitpid(c->pid, &status, WNOHANG) == 0) {
        if (clock_now_ns() > c->leave_until_ns)
            kill(c->pid, SIGKILL);
        if (clock_now_ns() > c->leave_until_ns + KILLED_S * NS_PER_S)
            end(c, EXIT_LOST, "muster-agent closed its socket but cannot be killed");
        else
            xevent_add(c->reap, &pause);
        return;
    }
    c->pid = 0;
    if (c->is_open && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        end(c, 0, NULL);
        return;
    }
    agent_end_text(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), words,
                   sizeof words);
    snprintf(text, sizeof text, "muster-agent %s", words);
    end(c, c->is_open ? EXIT_LOST : EXIT_INTERNAL, text);
}

/* Makes the last call into ops: the callee may free c. */
static void end(struct conn_exec *c, int exit_code, const char *text)
{
    struct conn_failure why = { .stage = c->is_open ? "running" : "agent",
                                .exit_code = exit_code };

    if (c->readable != NULL)
        event_del(c->readable);
    if (c->writable != NULL)
        event_del(c->writable);
    if (c->late != NULL)
        event_del(c->late);
    if (text == NULL) {
        c->conn.ops->closed(NULL, c->conn.arg);
        return;
    }
    while (c->stderr_size > 0 && c->stderr_text[c->stderr_size - 1] == '\n')
        c->stderr_size--;
    snprintf(why.text, sizeof why.text, "%s%s%.*s", text, c->stderr_size > 0 ? ": " : "",
             (int)c->stderr_size, c->stderr_text);
    c->conn.ops->closed(&why, c->conn.arg);
}

/* An agent that is still alive notices the closed socket and cleans up. */
static void exec_free(struct conn *conn)
{
    struct conn_exec *c = (struct conn_exec *)conn;

    drop_event(&c->readable);
    drop_event(&c->writable);
    drop_event(&c->err_readable);
    drop_event(&c->late);
    drop_event(&c->reap);
    if (c->fd >= 0)
        close(c->fd);
    if (c->err_fd >= 0)
        close(c->err_fd);
    if (c->pid > 0)
        children_ending(c->pid);
    evbuffer_free(c->in);
    evbuffer_free(c->out);
    free(c->agent_path);
    free(c);
}

static void drop_event(struct event **event)
{
    if (*event != NULL)
        event_free(*event);
    *event = NULL;
}
