/* venv.c - see venv.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/venv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit_code.h"
#include "fd.h"
#include "xalloc.h"
#include "xevent.h"

/* Without arguments of ours in sight of the script: conda's activate would take
 * them for the name of an environment. */
#define VENV_COMMAND "script=$1; shift; . \"$script\" >/dev/null </dev/null || exit; exec env -0"

#define COMPLAINT_MAX 512

struct pipe_end {
    int              fd;
    struct event    *event;
    struct evbuffer *bytes;
};

struct venv {
    struct guard   *guard;
    char           *script;
    struct pipe_end out, complaints;
    struct event   *late;
    bool            is_late, has_exited;
    struct guard_message exited;
    void          (*done)(const struct strlist *, const struct failure *, void *);
    void           *arg;
};

static int  spawn_shell(struct venv *venv, const char *cwd, const struct strlist *env,
                        int out, int complaints, struct failure *failure);
static int  pipe_begin(struct venv *venv, struct event_base *base, struct pipe_end *end,
                       event_callback_fn cb);
static void out_cb(evutil_socket_t fd, short what, void *arg);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void maybe_done(struct venv *venv);
static void complaints_cb(evutil_socket_t fd, short what, void *arg);
static void pipe_end_close(struct pipe_end *end);
static int  read_result(struct venv *venv, struct strlist *env, struct failure *failure);
static int  fail(struct venv *venv, struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct venv *venv_start(struct event_base *base, struct guard *guard, const char *script,
                        const char *cwd, const struct strlist *env,
                        void (*done)(const struct strlist *env, const struct failure *failure,
                                     void *arg),
                        void *arg)
{
    struct venv         *venv = xcalloc(1, sizeof *venv);
    const struct timeval limit = { .tv_sec = VENV_DEADLINE_S };
    struct failure       failure = { 0 };
    int                  out, complaints, rc = -1;

    venv->guard = guard;
    venv->script = xstrdup(script);
    venv->done = done;
    venv->arg = arg;
    out = pipe_begin(venv, base, &venv->out, out_cb);
    complaints = pipe_begin(venv, base, &venv->complaints, complaints_cb);
    venv->late = evtimer_new(base, late_cb, venv);
    if (venv->late == NULL)
        xalloc_die();
    xevent_add(venv->late, &limit);
    if (access(script, R_OK) < 0)
        fail(venv, &failure, "%s", strerror(errno));
    else
        rc = spawn_shell(venv, cwd, env, out, complaints, &failure);
    close(out);
    close(complaints);
    if (rc < 0) {
        event_del(venv->late);
        venv->done = NULL;
        done(NULL, &failure, arg);
    }
    return venv;
}

void venv_exited(struct venv *venv, const struct guard_message *message)
{
    venv->has_exited = true;
    venv->exited = *message;
    maybe_done(venv);
}

void venv_free(struct venv *venv)
{
    if (venv == NULL)
        return;
    pipe_end_close(&venv->out);
    pipe_end_close(&venv->complaints);
    evbuffer_free(venv->out.bytes);
    evbuffer_free(venv->complaints.bytes);
    event_free(venv->late);
    free(venv->script);
    free(venv);
}

static int spawn_shell(struct venv *venv, const char *cwd, const struct strlist *env,
                       int out, int complaints, struct failure *failure)
{
    struct strlist argv = { 0 };
    struct spawn   spawn = { .cwd = cwd, .argv = &argv, .env = env };
    struct error   why;
    char          *bash = prepare_program("bash", env, failure);
    int            fds[SPAWN_FDS] = { -1, out, complaints, -1 }, rc = -1;

    if (bash == NULL)
        return -1;
    strlist_add(&argv, "bash");
    strlist_add(&argv, "-c");
    strlist_add(&argv, VENV_COMMAND);
    strlist_add(&argv, "bash");
    strlist_add(&argv, venv->script);
    spawn.path = bash;
    fds[SPAWN_FD_SPEC] = spawn_pack(&spawn, &why);
    if (fds[SPAWN_FD_SPEC] < 0)
        fail(venv, failure, "%s", why.text);
    else if (guard_spawn(venv->guard, GUARD_HELPER, fds) < 0)
        fail(venv, failure, "the guard is gone");
    else
        rc = 0;
    if (fds[SPAWN_FD_SPEC] >= 0)
        close(fds[SPAWN_FD_SPEC]);
    strlist_clear(&argv);
    free(bash);
    return rc;
}

/* Returns the end to be written to. */
static int pipe_begin(struct venv *venv, struct event_base *base, struct pipe_end *end,
                      event_callback_fn cb)
{
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        xalloc_die();
    fd_set_nonblock(pair[0]);
    end->fd = pair[0];
    end->bytes = evbuffer_new();
    end->event = event_new(base, end->fd, EV_READ | EV_PERSIST, cb, venv);
    if (end->bytes == NULL || end->event == NULL)
        xalloc_die();
    xevent_add(end->event, NULL);
    return pair[1];
}

static void out_cb(evutil_socket_t fd, short what, void *arg)
{
    struct venv *venv = arg;
    ssize_t      got = fd_read_buffer(fd, venv->out.bytes, VENV_OUTPUT_MAX);

    (void)what;
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0 || evbuffer_get_length(venv->out.bytes) > VENV_OUTPUT_MAX)
        pipe_end_close(&venv->out);
    maybe_done(venv);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct venv *venv = arg;

    (void)fd, (void)what;
    venv->is_late = true;
    guard_signal(venv->guard, GUARD_HELPER, SIGKILL);
    pipe_end_close(&venv->out);
    maybe_done(venv);
}

static void maybe_done(struct venv *venv)
{
    struct strlist env = { 0 };
    struct failure failure = { 0 };

    if (venv->out.fd >= 0 || (!venv->has_exited && !venv->is_late) || venv->done == NULL)
        return;
    event_del(venv->late);
    if (venv->complaints.fd >= 0)
        complaints_cb(venv->complaints.fd, EV_READ, venv); /* what is there already */
    if (read_result(venv, &env, &failure) == 0)
        venv->done(&env, NULL, venv->arg);
    else
        venv->done(NULL, &failure, venv->arg);
    venv->done = NULL;
    strlist_clear(&env);
}

/* Only the end of it is of interest. A process that the script leaves running
 * may hold this pipe, so nobody waits for its end. */
static void complaints_cb(evutil_socket_t fd, short what, void *arg)
{
    struct venv *venv = arg;
    ssize_t      got = fd_read_buffer(fd, venv->complaints.bytes, COMPLAINT_MAX);
    size_t       size = evbuffer_get_length(venv->complaints.bytes);

    (void)what;
    if (got == 0 || (got < 0 && errno != EAGAIN))
        pipe_end_close(&venv->complaints);
    if (size > COMPLAINT_MAX)
        evbuffer_drain(venv->complaints.bytes, size - COMPLAINT_MAX);
}

static void pipe_end_close(struct pipe_end *end)
{
    if (end->fd < 0)
        return;
    event_free(end->event);
    close(end->fd);
    end->fd = -1;
}

static int read_result(struct venv *venv, struct strlist *env, struct failure *failure)
{
    /* The shell's own, which would be wrong in the ranks. */
    static const char *const shells[] = { "_=", "SHLVL=", "PWD=", "OLDPWD=" };
    struct strlist all = { 0 };
    size_t         size = evbuffer_get_length(venv->out.bytes), i, j;
    int            status = venv->exited.value;
    const char    *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

    if (venv->is_late)
        return fail(venv, failure, "not done within %d s", VENV_DEADLINE_S);
    if (venv->exited.failure.step != SPAWN_OK)
        return fail(venv, failure, "cannot start bash: %s", strerror(venv->exited.failure.error));
    if (size > VENV_OUTPUT_MAX) /* we did not read on, which kills the shell */
        return fail(venv, failure, "an environment of more than %u KiB", VENV_OUTPUT_MAX >> 10);
    if (WIFSIGNALED(status))
        return fail(venv, failure, "its shell was killed by %s%s", name != NULL ? "SIG" : "a ",
                    name != NULL ? name : "real-time signal");
    if (WEXITSTATUS(status) != 0)
        return fail(venv, failure, "it ended with status %d", WEXITSTATUS(status));
    if (size == 0 ||
        strlist_unpack(&all, (char *)evbuffer_pullup(venv->out.bytes, -1), size) < 0) {
        strlist_clear(&all);
        return fail(venv, failure, "no environment came back (%zu bytes)", size);
    }
    for (i = 0; i < all.count; i++) {
        for (j = 0; j < 4 && strncmp(all.item[i], shells[j], strlen(shells[j])) != 0; j++)
            ;
        if (j == 4)
            strlist_add(env, all.item[i]);
    }
    strlist_clear(&all);
    return 0;
}

static int fail(struct venv *venv, struct failure *failure, const char *format, ...)
{
    size_t       size = evbuffer_get_length(venv->complaints.bytes);
    const char  *said = size > 0 ? (char *)evbuffer_pullup(venv->complaints.bytes, -1) : "";
    struct error why;
    va_list      ap;

    while (size > 0 && said[size - 1] == '\n')
        size--;
    va_start(ap, format);
    vsnprintf(why.text, sizeof why.text, format, ap);
    va_end(ap);
    return failure_set(failure, EXIT_CANNOT_EXECUTE, "", "venv script %s: %s%s%.*s",
                       venv->script, why.text, size > 0 ? ": " : "", (int)size, said);
}
