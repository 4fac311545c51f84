/* child.c - see child.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sanitize.h"
#include "transport/children.h"
#include "xalloc.h"
#include "xevent.h"

#define STDERR_MAX 4096        /* bytes of stderr that are stored */
#define READ_MAX      (64 * 1024) /* at a time: the capacity of a pipe */

static int  spawn(pid_t *pid, char *const argv[], int in_out, int err_fd);
static void watch_stderr(struct child *child, struct event_base *base, int err_fd);
static void stderr_cb(evutil_socket_t fd, short what, void *arg);

int child_start(struct child *child, struct event_base *base, char *const argv[], int *fd,
                struct error *err)
{
    int pair[2], err_pipe[2], rc;

    *child = (struct child){ 0 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, "%s: cannot create a socket: %s", argv[0], strerror(errno));
    if (pipe2(err_pipe, O_CLOEXEC) < 0) {
        rc = errno;
        close(pair[0]);
        close(pair[1]);
        return err_set(err, "%s: cannot create a pipe: %s", argv[0], strerror(rc));
    }
    rc = spawn(&child->pid, argv, pair[1], err_pipe[1]);
    close(pair[1]);
    close(err_pipe[1]);
    if (rc != 0) {
        close(pair[0]);
        close(err_pipe[0]);
        child->pid = 0;
        return err_set(err, "%s: %s", argv[0], strerror(rc));
    }
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    watch_stderr(child, base, err_pipe[0]);
    *fd = pair[0];
    return 0;
}

void child_stop(struct child *child)
{
    int err_fd;

    if (child->pid > 0 && !child_is_gone(child->pid)) {
        kill(child->pid, SIGTERM);
        children_ending(child->pid);
    }
    if (child->err_readable != NULL) {
        err_fd = event_get_fd(child->err_readable);
        event_free(child->err_readable);
        close(err_fd);
        evbuffer_free(child->stderr_text);
    }
    *child = (struct child){ 0 };
}

void child_stderr(struct child *child, char *text, size_t size)
{
    if (child->err_readable == NULL) {
        text[0] = '\0';
        return;
    }
    stderr_cb(event_get_fd(child->err_readable), EV_READ, child); /* read the rest */
    sanitize_tail((char *)evbuffer_pullup(child->stderr_text, -1),
                  evbuffer_get_length(child->stderr_text), text, size);
}

static void watch_stderr(struct child *child, struct event_base *base, int err_fd)
{
    fcntl(err_fd, F_SETFL, O_NONBLOCK);
    child->err_readable = xevent_new(base, err_fd, stderr_cb, child);
    child->stderr_text = evbuffer_new();
    if (child->stderr_text == NULL)
        xalloc_die();
    xevent_watch(child->err_readable, EV_READ);
}

static void stderr_cb(evutil_socket_t fd, short what, void *arg)
{
    struct child *child = arg;
    int           n = evbuffer_read(child->stderr_text, fd, READ_MAX);
    size_t        kept = evbuffer_get_length(child->stderr_text);

    (void)what;
    if (kept > STDERR_MAX)
        evbuffer_drain(child->stderr_text, kept - STDERR_MAX);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        event_del(child->err_readable);
}

static int spawn(pid_t *pid, char *const argv[], int in_out, int err_fd)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t          attr;
    sigset_t                   all, none;
    int                        rc;

    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in_out, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, in_out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_fd, STDERR_FILENO);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETSIGMASK);
    rc = posix_spawnp(pid, argv[0], &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}
