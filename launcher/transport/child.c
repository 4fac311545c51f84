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

#define COMPLAINT_MAX 4096        /* bytes of stderr that are kept */
#define READ_MAX      (64 * 1024) /* at a time: all that a pipe holds */

static int  spawn(pid_t *pid, char *const argv[], int in_out, int err_fd);
static void listen_to(struct child *child, struct event_base *base, int err_fd);
static void said_cb(evutil_socket_t fd, short what, void *arg);

int child_start(struct child *child, struct event_base *base, char *const argv[], int *fd,
                struct error *err)
{
    int pair[2], err_pipe[2], rc;

    *child = (struct child){ 0 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, "%s: no socket for it: %s", argv[0], strerror(errno));
    if (pipe2(err_pipe, O_CLOEXEC) < 0) {
        rc = errno;
        close(pair[0]);
        close(pair[1]);
        return err_set(err, "%s: no pipe for it: %s", argv[0], strerror(rc));
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
    listen_to(child, base, err_pipe[0]);
    *fd = pair[0];
    return 0;
}

void child_stop(struct child *child)
{
    int err_fd;

    if (child->pid > 0 && !child_is_gone(child->pid)) {
        kill(child->pid, SIGTERM);
        children_leaving(child->pid);
    }
    if (child->ears != NULL) {
        err_fd = event_get_fd(child->ears);
        event_free(child->ears);
        close(err_fd);
        evbuffer_free(child->said);
    }
    *child = (struct child){ 0 };
}

void child_complaint(struct child *child, char *text, size_t size)
{
    if (child->ears == NULL) {
        text[0] = '\0';
        return;
    }
    said_cb(event_get_fd(child->ears), EV_READ, child); /* its last words */
    sanitize_tail((char *)evbuffer_pullup(child->said, -1), evbuffer_get_length(child->said), text,
                  size);
}

static void listen_to(struct child *child, struct event_base *base, int err_fd)
{
    fcntl(err_fd, F_SETFL, O_NONBLOCK);
    child->ears = xevent_new(base, err_fd, said_cb, child);
    child->said = evbuffer_new();
    if (child->said == NULL)
        xalloc_die();
    xevent_watch(child->ears, EV_READ);
}

static void said_cb(evutil_socket_t fd, short what, void *arg)
{
    struct child *child = arg;
    int           n = evbuffer_read(child->said, fd, READ_MAX);
    size_t        kept = evbuffer_get_length(child->said);

    (void)what;
    if (kept > COMPLAINT_MAX)
        evbuffer_drain(child->said, kept - COMPLAINT_MAX);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        event_del(child->ears);
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
