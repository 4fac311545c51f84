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
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit_code.h"
#include "fd.h"
#include "xalloc.h"
#include "xevent.h"

/* The script gets no arguments of ours: conda's activate would take them for the name of an
 * environment. The shell's own variables would be wrong in the ranks. */
#define VENV_COMMAND                                                    \
    "script=$1; shift; . \"$script\" >/dev/null </dev/null || exit; "   \
    "exec env -0 -u _ -u SHLVL -u PWD -u OLDPWD"

#define STDERR_MAX 512 /* bytes to keep, the last ones */

struct venv {
    struct guard    *guard;
    char            *script;
    int              out_fd; /* a file in memory that env writes to */
    int              stderr_fd;
    struct event    *stderr_event, *late;
    struct evbuffer *stderr_text;
    /* NULL: done was called. */
    void           (*done)(const struct strlist *, const struct failure *, void *);
    void            *arg;
};

static int  start(struct venv *venv, const char *cwd, const struct strlist *env,
                  int stderr_end, struct failure *failure);
static int  make_out(void);
static int  make_stderr(struct venv *venv, struct event_base *base);
static void stderr_cb(evutil_socket_t fd, short what, void *arg);
static void late_cb(evutil_socket_t fd, short what, void *arg);
static void finish(struct venv *venv, const struct strlist *env, const struct failure *failure);
static int  check_end(struct venv *venv, const struct guard_message *end,
                      struct failure *failure);
static int  read_out(struct venv *venv, struct strlist *env, struct failure *failure);
static int  fail(struct venv *venv, struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct venv *venv_start(struct event_base *base, struct guard *guard, const char *script,
                        const char *cwd, const struct strlist *env,
                        void (*done)(const struct strlist *env, const struct failure *failure,
                                     void *arg),
                        void *arg)
{
    const struct timeval limit = { .tv_sec = VENV_DEADLINE_S };
    struct venv         *venv = xcalloc(1, sizeof *venv);
    struct failure       failure;
    int                  stderr_end;

    *venv = (struct venv){ .guard = guard, .script = xstrdup(script), .out_fd = make_out(),
                           .done = done, .arg = arg };
    stderr_end = make_stderr(venv, base);
    venv->late = evtimer_new(base, late_cb, venv);
    if (venv->late == NULL)
        xalloc_die();
    xevent_add(venv->late, &limit);
    if (start(venv, cwd, env, stderr_end, &failure) < 0)
        finish(venv, NULL, &failure);
    close(stderr_end);
    return venv;
}

void venv_exited(struct venv *venv, const struct guard_message *end)
{
    struct strlist env = { 0 };
    struct failure failure;

    if (venv->done == NULL)
        return;
    stderr_cb(venv->stderr_fd, EV_READ, venv); /* read the text that is there already */
    if (check_end(venv, end, &failure) == 0 && read_out(venv, &env, &failure) == 0)
        finish(venv, &env, NULL);
    else
        finish(venv, NULL, &failure);
    strlist_clear(&env);
}

void venv_free(struct venv *venv)
{
    if (venv == NULL)
        return;
    event_free(venv->stderr_event);
    event_free(venv->late);
    evbuffer_free(venv->stderr_text);
    close(venv->stderr_fd);
    close(venv->out_fd);
    free(venv->script);
    free(venv);
}

static int start(struct venv *venv, const char *cwd, const struct strlist *env,
                 int stderr_end, struct failure *failure)
{
    struct strlist argv = { 0 };
    struct spawn   spawn = { .cwd = cwd, .argv = &argv, .env = env };
    struct error   why;
    char          *bash;
    int            fds[SPAWN_FDS] = { -1, -1, venv->out_fd, stderr_end, -1 }, rc = -1, i;

    if (access(venv->script, R_OK) < 0)
        return fail(venv, failure, "%s", strerror(errno));
    bash = prepare_program("bash", env, failure);
    if (bash == NULL)
        return -1;
    strlist_add(&argv, "bash");
    strlist_add(&argv, "-c");
    strlist_add(&argv, VENV_COMMAND);
    strlist_add(&argv, "bash");
    strlist_add(&argv, venv->script);
    spawn.path = bash;
    fds[SPAWN_FD_SPEC] = spawn_pack(&spawn, &why);
    fds[SPAWN_FD_STDIN] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fds[SPAWN_FD_SPEC] < 0)
        fail(venv, failure, "%s", why.text);
    else if (fds[SPAWN_FD_STDIN] < 0)
        fail(venv, failure, "/dev/null: %s", strerror(errno));
    else if ((rc = guard_spawn(venv->guard, GUARD_HELPER, fds)) < 0)
        fail(venv, failure, "the guard is gone");
    for (i = SPAWN_FD_SPEC; i <= SPAWN_FD_STDIN; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    strlist_clear(&argv);
    free(bash);
    return rc;
}

/* The file cannot grow: a script that writes more gets an error. */
static int make_out(void)
{
    int fd = memfd_create("muster-venv", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, VENV_OUTPUT_MAX) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
        xalloc_die();
    return fd;
}

/* Makes a pipe that is read until this agent exits: a process that the script leaves running
 * may write there. Returns the end to write to. */
static int make_stderr(struct venv *venv, struct event_base *base)
{
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        xalloc_die();
    fd_set_nonblock(pair[0]);
    venv->stderr_fd = pair[0];
    venv->stderr_text = evbuffer_new();
    venv->stderr_event = event_new(base, pair[0], EV_READ | EV_PERSIST, stderr_cb, venv);
    if (venv->stderr_text == NULL || venv->stderr_event == NULL)
        xalloc_die();
    xevent_add(venv->stderr_event, NULL);
    return pair[1];
}

static void stderr_cb(evutil_socket_t fd, short what, void *arg)
{
    struct venv *venv = arg;
    ssize_t      got = fd_read_buffer(fd, venv->stderr_text, 128 * STDERR_MAX);
    size_t       size = evbuffer_get_length(venv->stderr_text);

    (void)what;
    if (got == 0 || (got < 0 && errno != EAGAIN))
        event_del(venv->stderr_event);
    if (size > STDERR_MAX)
        evbuffer_drain(venv->stderr_text, size - STDERR_MAX);
}

static void late_cb(evutil_socket_t fd, short what, void *arg)
{
    struct venv   *venv = arg;
    struct failure failure;

    (void)fd, (void)what;
    guard_signal(venv->guard, GUARD_HELPER, SIGKILL);
    fail(venv, &failure, "not finished after %d s", VENV_DEADLINE_S);
    finish(venv, NULL, &failure);
}

static void finish(struct venv *venv, const struct strlist *env, const struct failure *failure)
{
    event_del(venv->late);
    venv->done(env, failure, venv->arg);
    venv->done = NULL;
}

static int check_end(struct venv *venv, const struct guard_message *end, struct failure *failure)
{
    if (end->failure.step != SPAWN_OK)
        return fail(venv, failure, "cannot start bash: %s", strerror(end->failure.error));
    if (lseek(venv->out_fd, 0, SEEK_CUR) >= VENV_OUTPUT_MAX)
        return fail(venv, failure, "its environment is larger than %u KiB", VENV_OUTPUT_MAX >> 10);
    if (WIFSIGNALED(end->value))
        return fail(venv, failure, "bash was killed by %s",
                    signal_name(WTERMSIG(end->value)).text);
    if (WEXITSTATUS(end->value) != 0)
        return fail(venv, failure, "exit status %d", WEXITSTATUS(end->value));
    return 0;
}

/* The shell wrote through our open file, so the file position is the size. */
static int read_out(struct venv *venv, struct strlist *env, struct failure *failure)
{
    off_t size = lseek(venv->out_fd, 0, SEEK_CUR);
    char *bytes = xmalloc((size_t)size + 1);
    int   rc = -1;

    if (size > 0 && pread(venv->out_fd, bytes, (size_t)size, 0) == size)
        rc = strlist_unpack(env, bytes, (size_t)size);
    free(bytes);
    if (rc < 0)
        fail(venv, failure, "bash printed no environment (%zu bytes)", (size_t)size);
    return rc;
}

static int fail(struct venv *venv, struct failure *failure, const char *format, ...)
{
    size_t      size = evbuffer_get_length(venv->stderr_text);
    const char *said = size > 0 ? (char *)evbuffer_pullup(venv->stderr_text, -1) : "";
    bool        is_missing;
    char        why[256];
    va_list     ap;

    while (size > 0 && said[size - 1] == '\n')
        size--;
    va_start(ap, format);
    vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    is_missing = access(venv->script, F_OK) < 0 && errno == ENOENT;
    failure_set(failure, EXIT_CANNOT_EXECUTE,
                is_missing ? "it must be at the same path on every node" : "",
                "venv script %s: %s%s%.*s", venv->script, why, size > 0 ? ": " : "", (int)size,
                said);
    if (is_missing)
        snprintf(failure->missing, sizeof failure->missing, "%s", venv->script);
    return -1;
}
