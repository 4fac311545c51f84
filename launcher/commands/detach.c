/* detach.c - see detach.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "course/launch.h"
#include "exit_code.h"
#include "history/follow.h"
#include "history/history.h"
#include "log.h"

static void hold_signals(int how);
static int  launch(const struct options *options, struct plan *plan, int fd);
static int  leave_terminal(const struct run_dir *dir, void *arg, struct error *err);
static int  move_output(const struct run_dir *dir, const char *name, int to,
                        struct error *err);
static void started(void *arg);
static int  stay(const struct options *options, const struct plan *plan, pid_t launcher,
                 int fd);
static bool launcher_has_directory(int fd);
static int  status_of(pid_t launcher);

int detach_run(const struct options *options, struct plan *plan)
{
    int   pair[2], status;
    pid_t launcher;

    hold_signals(SIG_BLOCK);
    if (pipe2(pair, O_CLOEXEC) < 0 || (launcher = fork()) < 0) {
        log_error("--detach: %s", strerror(errno));
        return EXIT_INTERNAL;
    }
    if (launcher == 0) {
        hold_signals(SIG_UNBLOCK);
        close(pair[0]);
        return launch(options, plan, pair[1]);
    }
    close(pair[1]);
    status = stay(options, plan, launcher, pair[0]);
    close(pair[0]);
    return status;
}

/* Blocks the signals until follow_run() forwards them: by then the launcher has left the
 * terminal, and would keep running if a signal killed only this process. */
static void hold_signals(int how)
{
    sigset_t held;

    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigprocmask(how, &held, NULL);
}

/* ---- the launcher ---- */

/* Writes a byte to fd, for the foreground process, when its output goes to the files, and
 * another one when all ranks have started. */
static int launch(const struct options *options, struct plan *plan, int fd)
{
    struct launch_watcher watcher = { .has_dir = leave_terminal, .started = started, .arg = &fd };

    return launch_run(options, plan, NULL, &watcher);
}

/* Moves output from the terminal to files in the run directory, before any code checks what
 * standard output is. */
static int leave_terminal(const struct run_dir *dir, void *arg, struct error *err)
{
    const int *fd = arg;
    int        null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (null < 0 || dup2(null, STDIN_FILENO) < 0)
        return err_set(err, "/dev/null: %s", strerror(errno));
    close(null);
    if (move_output(dir, "stdout", STDOUT_FILENO, err) < 0 ||
        move_output(dir, "stderr", STDERR_FILENO, err) < 0)
        return -1;
    setsid();
    signal(SIGHUP, SIG_IGN);
    (void)!write(*fd, "", 1);
    return 0;
}

static int move_output(const struct run_dir *dir, const char *name, int to, struct error *err)
{
    int fd = openat(dir->fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_APPEND | O_CLOEXEC,
                    0600);

    if (fd < 0 || dup2(fd, to) < 0)
        return err_set(err, "%s/%s: %s", dir->path, name, strerror(errno));
    close(fd);
    return 0;
}

/* The foreground process need not wait any longer. */
static void started(void *arg)
{
    int *fd = arg;

    if (*fd < 0)
        return;
    (void)!write(*fd, "", 1);
    close(*fd);
    *fd = -1;
}

/* ---- the foreground ---- */

/* stdout gets the id of the run and nothing else: id=$(muster --detach ...). */
static int stay(const struct options *options, const struct plan *plan, pid_t launcher, int fd)
{
    struct follow_terms terms = { .tail = options->resumed != NULL ? 0 : -1,
                                  .out_fd = STDERR_FILENO, .started_fd = fd,
                                  .launcher = launcher };
    struct error        err;
    enum follow_end     end;

    if (!launcher_has_directory(fd))
        return status_of(launcher);
    terms.dir_fd = past_run_open(plan->run_id, &err);
    if (terms.dir_fd < 0) {
        log_error("%s", err.text);
        return EXIT_CREATE;
    }
    end = follow_run(&terms);
    close(terms.dir_fd);
    printf("%s\n", plan->run_id);
    if (end == FOLLOW_OVER)
        return status_of(launcher);
    if (log_wants(LOG_WARN))
        fprintf(stderr, "muster: running; see muster status, attach or stop %s\n", plan->run_id);
    return end == FOLLOW_STARTED ? 0 : EXIT_OUTPUT;
}

/* False: the launcher exited without one, after it printed the reason on our terminal. */
static bool launcher_has_directory(int fd)
{
    char    word;
    ssize_t n;

    do
        n = read(fd, &word, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

static int status_of(pid_t launcher)
{
    int status;

    while (waitpid(launcher, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_INTERNAL;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)
        return 128 + WTERMSIG(status); /* forwarded before anything began */
    log_error("muster itself was killed by %s", signal_name(WTERMSIG(status)).text);
    return EXIT_LOST;
}
