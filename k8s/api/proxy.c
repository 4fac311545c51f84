/* proxy.c - see proxy.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "api/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "strlist.h"
#include "xalloc.h"

#define SAYS_MAX    4096 /* how many bytes of kubectl's output we keep */
#define NO_PROGRAM  127
#define KUBECONFIG_S 20

static pid_t start(const struct strlist *argv, int *out);
static int   read_until(int fd, const char *wanted, double seconds, char says[SAYS_MAX]);
static int   has_failed(const char *what, pid_t pid, char *says, struct error *err);
static int   end(pid_t pid);
static void  remove_at_signals(const struct proxy *proxy);
static void  remove_files(int signal_number);

/* The files that remove_files() removes. A process has only one proxy. */
static char removed_socket[128], removed_directory[128];

int proxy_start(struct proxy *proxy, const char *context, struct error *err)
{
    const char    *base = getenv("XDG_RUNTIME_DIR");
    struct strlist argv = { 0 };
    char           says[SAYS_MAX];
    int            rc = -1;

    if (base == NULL || base[0] != '/' || access(base, W_OK) < 0)
        base = getenv("TMPDIR");
    proxy->directory =
        xasprintf("%s/muster-k8s-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
    if (mkdtemp(proxy->directory) == NULL) {
        err_set(err, "%s: %s", proxy->directory, strerror(errno));
        free(proxy->directory);
        proxy->directory = NULL;
        return -1;
    }
    proxy->socket = xasprintf("%s/socket", proxy->directory);
    remove_at_signals(proxy);
    strlist_add(&argv, "kubectl");
    if (context != NULL)
        strlist_addf(&argv, "--context=%s", context);
    strlist_add(&argv, "proxy");
    strlist_addf(&argv, "--unix-socket=%s", proxy->socket);
    proxy->pid = start(&argv, &proxy->out);
    if (proxy->pid < 0) {
        proxy->pid = 0;
        err_set(err, "kubectl: %s", strerror(errno));
    } else if (read_until(proxy->out, "Starting to serve", PROXY_START_S, says) < 0) {
        has_failed("kubectl proxy", proxy->pid, says, err);
        close(proxy->out);
        proxy->pid = 0;
    } else
        rc = fd_set_nonblock(proxy->out);
    strlist_clear(&argv);
    if (rc < 0)
        proxy_stop(proxy);
    return rc;
}

void proxy_drain(const struct proxy *proxy)
{
    char says[SAYS_MAX];

    while (proxy->pid > 0 && read(proxy->out, says, sizeof says) > 0)
        ;
}

void proxy_stop(struct proxy *proxy)
{
    if (proxy->pid > 0) {
        end(proxy->pid);
        close(proxy->out);
    }
    if (proxy->directory != NULL) {
        unlink(proxy->socket);
        rmdir(proxy->directory);
    }
    free(proxy->directory);
    free(proxy->socket);
    *proxy = (struct proxy){ 0 };
}

char *proxy_namespace(const char *context, struct error *err)
{
    struct strlist argv = { 0 };
    char           says[SAYS_MAX], *end_of;
    pid_t          pid;
    int            out, status;

    strlist_add(&argv, "kubectl");
    if (context != NULL)
        strlist_addf(&argv, "--context=%s", context);
    strlist_add(&argv, "config");
    strlist_add(&argv, "view");
    strlist_add(&argv, "--minify");
    strlist_add(&argv, "--output=jsonpath={..namespace}");
    pid = start(&argv, &out);
    strlist_clear(&argv);
    if (pid < 0) {
        err_set(err, "kubectl: %s", strerror(errno));
        return NULL;
    }
    read_until(out, NULL, KUBECONFIG_S, says);
    close(out);
    if (waitpid(pid, &status, WNOHANG) == 0)
        status = end(pid);
    if (status != 0) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM)
            err_set(err, "kubectl is not on PATH; muster k8s reaches the cluster through it");
        else
            err_set(err, "kubectl config view: %s", says);
        return NULL;
    }
    end_of = strpbrk(says, " \n");
    if (end_of != NULL)
        *end_of = '\0';
    return xstrdup(says[0] != '\0' ? says : "default");
}

/* Starts kubectl; *out reads its standard output and error. */
static pid_t start(const struct strlist *argv, int *out)
{
    int   ends[2];
    pid_t pid, parent = getpid();

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0); /* Ctrl-C must not reach kubectl: we still need it to delete the job */
        signal(SIGPIPE, SIG_DFL);
        if (getppid() != parent || dup2(ends[1], STDOUT_FILENO) < 0 ||
            dup2(ends[1], STDERR_FILENO) < 0)
            _exit(NO_PROGRAM);
        execvp("kubectl", argv->item);
        _exit(NO_PROGRAM);
    }
    close(ends[1]);
    *out = ends[0];
    if (pid < 0)
        close(ends[0]);
    return pid;
}

/* Returns 0 when wanted is in the output, or at its end if wanted is NULL; else -1, at the end
 * of the output or after the time limit. */
static int read_until(int fd, const char *wanted, double seconds, char says[SAYS_MAX])
{
    int64_t       until = clock_now_ns() + (int64_t)(seconds * NS_PER_S), left;
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    size_t        size = 0;
    ssize_t       got = 1;

    says[0] = '\0';
    while (got > 0 && size + 1 < SAYS_MAX && (left = until - clock_now_ns()) > 0) {
        if (poll(&ready, 1, (int)(left / 1000000) + 1) <= 0)
            continue;
        got = read(fd, says + size, SAYS_MAX - 1 - size);
        if (got > 0)
            size += (size_t)got;
        says[size] = '\0';
        if (wanted != NULL && strstr(says, wanted) != NULL)
            return 0;
    }
    return wanted == NULL && got == 0 ? 0 : -1;
}

static int has_failed(const char *what, pid_t pid, char *says, struct error *err)
{
    int   status = end(pid);
    char *last = strchr(says, '\n');

    if (last != NULL)
        *last = '\0';
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM)
        return err_set(err, "kubectl is not on PATH; muster k8s reaches the cluster through it");
    if (says[0] == '\0')
        return err_set(err, "%s: no answer within %d s; does `kubectl get pods` work?", what,
                       PROXY_START_S);
    return err_set(err, "%s: %s", what, says);
}

static int end(pid_t pid)
{
    int status = 0;

    kill(pid, SIGKILL); /* kubectl has nothing to clean up, and may be stopped (SIGSTOP) */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* If an unblocked signal kills this program, kubectl dies too, but its socket would remain. */
static void remove_at_signals(const struct proxy *proxy)
{
    static const int       numbers[] = { SIGINT, SIGTERM, SIGHUP };
    const struct sigaction action = { .sa_handler = remove_files, .sa_flags = SA_RESETHAND };
    struct sigaction       old;
    size_t                 i;

    if (strlen(proxy->socket) >= sizeof removed_socket) /* no socket address is this long */
        return;
    snprintf(removed_socket, sizeof removed_socket, "%s", proxy->socket);
    snprintf(removed_directory, sizeof removed_directory, "%s", proxy->directory);
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

static void remove_files(int signal_number)
{
    unlink(removed_socket);
    rmdir(removed_directory);
    raise(signal_number); /* takes its default action when this handler returns */
}
