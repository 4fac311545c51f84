/* proxy.c - see proxy.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "children.h"
#include "printable.h"
#include "xalloc.h"

#define COMPLAINT_MAX 4096

static int spawn_shell(pid_t *pid, const char *command, int in_out, int err_fd);

int proxy_start(struct proxy *proxy, const char *command, int *fd, struct error *err)
{
    int pair[2], err_pipe[2], rc;

    *proxy = (struct proxy){ .err_fd = -1 };
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
    fcntl(err_pipe[0], F_SETFL, O_NONBLOCK);
    proxy->err_fd = err_pipe[0];
    *fd = pair[0];
    return 0;
}

void proxy_stop(struct proxy *proxy)
{
    if (proxy->pid > 0 && !child_is_gone(proxy->pid)) {
        kill(proxy->pid, SIGTERM);
        children_leaving(proxy->pid);
    }
    if (proxy->err_fd >= 0)
        close(proxy->err_fd);
    *proxy = (struct proxy){ .err_fd = -1 };
}

void proxy_complaint(struct proxy *proxy, char *text, size_t size)
{
    char    said[COMPLAINT_MAX];
    ssize_t n = proxy->err_fd >= 0 ? read(proxy->err_fd, said, sizeof said) : 0;

    printable_tail(said, n > 0 ? (size_t)n : 0, text, size);
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
