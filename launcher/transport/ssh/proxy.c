/* proxy.c - see proxy.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/ssh/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sanitize.h"
#include "transport/children.h"
#include "xalloc.h"
#include "xevent.h"

#define STDERR_MAX 4096        /* of its stderr, for an error text */
#define READ_MAX      (64 * 1024) /* at a time: all that fits into a pipe */

static int  spawn_shell(pid_t *pid, const char *command, int in_out, int err_fd);
static void watch_stderr(struct proxy *proxy, struct event_base *base, int err_fd);
static void stderr_cb(evutil_socket_t fd, short what, void *arg);

int proxy_start(struct proxy *proxy, struct event_base *base, const char *command, int *fd,
                struct error *err)
{
    int pair[2], err_pipe[2], rc;

    *proxy = (struct proxy){ 0 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, "no socket for the proxy command: %s", strerror(errno));
    if (pipe2(err_pipe, O_CLOEXEC) < 0) {
        rc = errno;
        close(pair[0]);
        close(pair[1]);
        return err_set(err, "no pipe for the proxy command: %s", strerror(rc));
    }
    rc = spawn_shell(&proxy->pid, command, pair[1], err_pipe[1]);
    close(pair[1]);
    close(err_pipe[1]);
    if (rc != 0) {
        close(pair[0]);
        close(err_pipe[0]);
        proxy->pid = 0;
        return err_set(err, "/bin/sh for the proxy command: %s", strerror(rc));
    }
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    watch_stderr(proxy, base, err_pipe[0]);
    *fd = pair[0];
    return 0;
}

void proxy_stop(struct proxy *proxy)
{
    int err_fd;

    if (proxy->pid > 0 && !child_is_gone(proxy->pid)) {
        kill(proxy->pid, SIGTERM);
        children_ending(proxy->pid);
    }
    if (proxy->err_readable != NULL) {
        err_fd = event_get_fd(proxy->err_readable);
        event_free(proxy->err_readable);
        close(err_fd);
        evbuffer_free(proxy->stderr_text);
    }
    *proxy = (struct proxy){ 0 };
}

void proxy_stderr(struct proxy *proxy, char *text, size_t size)
{
    if (proxy->err_readable == NULL) {
        text[0] = '\0';
        return;
    }
    stderr_cb(event_get_fd(proxy->err_readable), EV_READ, proxy); /* the last of it */
    sanitize_tail((char *)evbuffer_pullup(proxy->stderr_text, -1),
                  evbuffer_get_length(proxy->stderr_text), text, size);
}

static void watch_stderr(struct proxy *proxy, struct event_base *base, int err_fd)
{
    fcntl(err_fd, F_SETFL, O_NONBLOCK);
    proxy->err_readable = xevent_new(base, err_fd, stderr_cb, proxy);
    proxy->stderr_text = evbuffer_new();
    if (proxy->stderr_text == NULL)
        xalloc_die();
    xevent_watch(proxy->err_readable, EV_READ);
}

static void stderr_cb(evutil_socket_t fd, short what, void *arg)
{
    struct proxy *proxy = arg;
    int           n = evbuffer_read(proxy->stderr_text, fd, READ_MAX);
    size_t        kept = evbuffer_get_length(proxy->stderr_text);

    (void)what;
    if (kept > STDERR_MAX)
        evbuffer_drain(proxy->stderr_text, kept - STDERR_MAX);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        event_del(proxy->err_readable);
}

static int spawn_shell(pid_t *pid, const char *command, int in_out, int err_fd)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t          attr;
    sigset_t                   all, none;
    char                      *script = xasprintf("exec %s", command);
    char *argv[] = { (char *)"sh", (char *)"-c", script, NULL };
    int   rc;

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
    rc = posix_spawn(pid, "/bin/sh", &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    free(script);
    return rc;
}
