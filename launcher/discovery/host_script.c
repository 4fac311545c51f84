/* host_script.c - see host_script.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "discovery/host_script.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "clock.h"
#include "fd.h"
#include "log.h"
#include "transport/child.h"
#include "transport/children.h"
#include "xalloc.h"
#include "xevent.h"

#define READ_MAX  (64 * 1024)
#define EXIT_MS   10 /* between checks for its exit, once its output has ended */
#define WORDS_MAX 300 /* bytes of its stderr in a message */

/* These signals kill muster while it waits. The script has its own session and would not get
 * them. */
static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define SIGNALS (sizeof signals / sizeof *signals)

struct host_script {
    struct event_base *base;
    char              *path;
    const char        *meanwhile;
    host_script_done  *done;
    void              *arg;
    struct child       child;
    struct event      *readable; /* its output; NULL: it is not running */
    struct event      *limit;    /* HOST_SCRIPT_S */
    struct event      *slow;     /* HOST_SCRIPT_SLOW_S */
    bool               has_warned; /* about a slow answer: one that is always slow says it once */
    struct event      *exit;     /* EXIT_MS; also reports that it could not be started */
    struct evbuffer   *text;
    struct error       not_started; /* why it could not be started; "": no error */
    char               said[WORDS_MAX]; /* the end of its stderr, once it has exited */
    pid_t              stuck; /* pid that was killed but is still there; 0: none */
};

/* The answer for host_script_read(). */
struct answer {
    char        *text;
    size_t       size;
    struct error why;
    bool         is_there;
};

static void readable_cb(evutil_socket_t fd, short what, void *arg);
static void slow_cb(evutil_socket_t fd, short what, void *arg);
static void limit_cb(evutil_socket_t fd, short what, void *arg);
static void exit_cb(evutil_socket_t fd, short what, void *arg);
static bool has_exited(const struct host_script *script);
static void has_ended(struct host_script *script, int status);
static void fail(struct host_script *script, const struct error *why);
static int  end(struct host_script *script);
static void watch_signals(struct host_script *script, struct event *made[]);
static void signal_cb(evutil_socket_t number, short what, void *arg);
static void answered(const char *text, size_t size, const struct error *why, void *arg);

struct host_script *host_script_new(struct event_base *base, const char *path,
                                    const char *meanwhile, host_script_done *done, void *arg)
{
    struct host_script *script = xcalloc(1, sizeof *script);

    *script = (struct host_script){ .base = base, .path = xstrdup(path), .meanwhile = meanwhile,
                                    .done = done, .arg = arg };
    script->slow = evtimer_new(base, slow_cb, script);
    script->limit = evtimer_new(base, limit_cb, script);
    script->exit = evtimer_new(base, exit_cb, script);
    script->text = evbuffer_new();
    if (script->slow == NULL || script->limit == NULL || script->exit == NULL ||
        script->text == NULL)
        xalloc_die();
    return script;
}

void host_script_free(struct host_script *script)
{
    if (script == NULL)
        return;
    if (script->readable != NULL)
        end(script);
    event_free(script->slow);
    event_free(script->limit);
    event_free(script->exit);
    evbuffer_free(script->text);
    free(script->path);
    free(script);
}

void host_script_start(struct host_script *script)
{
    const struct timeval slow = { .tv_sec = HOST_SCRIPT_SLOW_S }, now = { 0 };
    const struct timeval limit = { .tv_sec = HOST_SCRIPT_S };
    char *const          argv[] = { script->path, NULL };
    int                  fd;

    if (script->readable != NULL || script->not_started.text[0] != '\0')
        return;
    script->said[0] = '\0';
    if (script->stuck > 0 && !child_is_gone(script->stuck)) {
        err_set(&script->not_started, "%s: process %d was killed but is still there",
                script->path, (int)script->stuck);
        xevent_add(script->exit, &now);
        return;
    }
    script->stuck = 0;
    if (child_start(&script->child, script->base, argv, &fd, &script->not_started) < 0) {
        xevent_add(script->exit, &now);
        return;
    }
    script->readable = xevent_new(script->base, fd, readable_cb, script);
    xevent_watch(script->readable, EV_READ);
    xevent_add(script->slow, &slow);
    xevent_add(script->limit, &limit);
}

static void readable_cb(evutil_socket_t fd, short what, void *arg)
{
    struct host_script *script = arg;
    ssize_t             n = fd_read_buffer(fd, script->text, READ_MAX);
    struct error        why;

    (void)what;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        event_del(script->readable);
        exit_cb(-1, EV_TIMEOUT, script);
    } else if (evbuffer_get_length(script->text) > HOST_SCRIPT_BYTES_MAX) {
        end(script);
        err_set(&why, "%s: prints more than %d bytes", script->path, HOST_SCRIPT_BYTES_MAX);
        fail(script, &why);
    }
}

static void slow_cb(evutil_socket_t fd, short what, void *arg)
{
    struct host_script *script = arg;

    (void)fd, (void)what;
    if (!script->has_warned)
        log_warn("%s: no answer for %d s, and muster kills it after %d s; %s", script->path,
                 HOST_SCRIPT_SLOW_S, HOST_SCRIPT_S, script->meanwhile);
    script->has_warned = true;
}

/* The output ends only when all processes that the script started have closed it. */
static void limit_cb(evutil_socket_t fd, short what, void *arg)
{
    struct host_script *script = arg;
    struct error        why;
    bool                is_alive = !has_exited(script);

    (void)fd, (void)what;
    end(script);
    err_set(&why, "%s: %s %d s", script->path,
            is_alive ? "killed, it did not exit within"
                     : "has exited, but a process that it started has held its output open for",
            HOST_SCRIPT_S);
    fail(script, &why);
}

static void exit_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval pause = { .tv_usec = EXIT_MS * 1000 };
    struct host_script  *script = arg;
    struct error         why = script->not_started;

    (void)fd, (void)what;
    if (script->readable == NULL) {
        script->not_started.text[0] = '\0';
        fail(script, &why);
    } else if (has_exited(script)) {
        has_ended(script, end(script));
    } else {
        xevent_add(script->exit, &pause);
    }
}

/* Leaves the script a zombie, so that no other process gets its pid. */
static bool has_exited(const struct host_script *script)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)script->child.pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid == script->child.pid;
}

static void has_ended(struct host_script *script, int status)
{
    struct error why;
    size_t       size = evbuffer_get_length(script->text);

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        const char *text = (const char *)evbuffer_pullup(script->text, -1);

        script->done(text != NULL ? text : "", size, NULL, script->arg);
        evbuffer_drain(script->text, size);
        return;
    }
    if (WIFEXITED(status))
        err_set(&why, "%s: exit %d", script->path, WEXITSTATUS(status));
    else
        err_set(&why, "%s: killed by signal %d", script->path, WTERMSIG(status));
    fail(script, &why);
}

/* Reports the failure, with the end of the script's stderr. */
static void fail(struct host_script *script, const struct error *why)
{
    struct error full = *why;

    evbuffer_drain(script->text, evbuffer_get_length(script->text));
    if (script->said[0] != '\0')
        err_set(&full, "%s (%s)", why->text, script->said);
    script->done(NULL, 0, &full, script->arg);
}

/* Kills the rest of its process group, and forgets the process. Returns its wait status. */
static int end(struct host_script *script)
{
    int   fd = event_get_fd(script->readable), status = 0;
    pid_t pid = script->child.pid;

    kill(-pid, SIGKILL);
    child_stderr(&script->child, script->said, sizeof script->said);
    if (waitpid(pid, &status, WNOHANG) == 0) {
        children_ending(pid);
        script->stuck = pid;
    }
    script->child.pid = 0;
    child_stop(&script->child);
    event_free(script->readable);
    script->readable = NULL;
    close(fd);
    event_del(script->slow);
    event_del(script->limit);
    event_del(script->exit);
    return status;
}

char *host_script_read(const char *path, size_t *size, struct error *err)
{
    struct event_base  *base = event_base_new();
    struct answer       answer = { 0 };
    struct host_script *script;
    struct event       *watched[SIGNALS] = { NULL };
    size_t              i;

    if (base == NULL) {
        err_set(err, "cannot create an event loop: %s", strerror(errno));
        return NULL;
    }
    script = host_script_new(base, path, "the run has no hosts before that", answered, &answer);
    watch_signals(script, watched);
    host_script_start(script);
    while (!answer.is_there && event_base_loop(base, EVLOOP_ONCE) == 0)
        ;
    for (i = 0; i < SIGNALS; i++)
        if (watched[i] != NULL)
            event_free(watched[i]);
    host_script_free(script);
    event_base_free(base);
    *size = answer.size;
    if (answer.text == NULL)
        *err = answer.why;
    return answer.text;
}

/* A signal that is ignored, as with nohup, stays ignored. */
static void watch_signals(struct host_script *script, struct event *made[])
{
    struct sigaction action;
    size_t           i;

    for (i = 0; i < SIGNALS; i++) {
        if (sigaction(signals[i], NULL, &action) < 0 || action.sa_handler == SIG_IGN)
            continue;
        made[i] = evsignal_new(script->base, signals[i], signal_cb, script);
        xevent_add(made[i], NULL);
    }
}

static void signal_cb(evutil_socket_t number, short what, void *arg)
{
    (void)what;
    host_script_free(arg);
    signal((int)number, SIG_DFL);
    raise((int)number);
}

static void answered(const char *text, size_t size, const struct error *why, void *arg)
{
    struct answer *answer = arg;

    answer->is_there = true;
    answer->size = size;
    if (text == NULL) {
        answer->why = *why;
        return;
    }
    answer->text = xmalloc(size + 1);
    memcpy(answer->text, text, size);
    answer->text[size] = '\0';
}
