/* main.c - muster-init: the first process of a job's container
 *
 *     muster-init --sshd                                            a worker
 *     muster-init --wait=HOSTFILE [--release[=success]] [--report=FILE] -- COMMAND...
 *                                                                   the launcher
 *     muster-init --sshd --wait=HOSTFILE ... -- COMMAND...          worker 0 that is both
 *     muster-init --idle [--sshd]                                   the launcher in debug mode
 *     muster-init --end                     makes the worker in which it is called exit
 *     muster-init --leave                   the same, as soon as no launcher uses the worker
 *
 * It reaps processes, and passes SIGTERM on to processes that can use the grace period. If sshd
 * were the first process, it would just exit, and the kernel would kill all ranks. In a worker
 * the agent gets SIGTERM first: for the run it is a notice. Ranks may not survive a SIGTERM, so
 * the agent ends them after they have saved. The exit status is the command's.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "exit_code.h"
#include "fd.h"
#include "init/leave.h"
#include "init/report.h"
#include "init/sshd.h"
#include "init/wait.h"
#include "log.h"
#include "number.h"
#include "xalloc.h"

#define RUN_DIR     "/run/muster"
#define SECRETS_DIR "/etc/muster/host"
#define HOSTS_DIR   "/etc/muster/hosts"
#define SSH_PORT    2222
#define AGENT       "muster-agent"
#define WAIT_S      3600
#define RELEASE_S   "20"
#define LAST_S      10 /* from its release to a worker's exit */

struct init {
    bool         has_sshd, does_release;
    bool         is_idle; /* debug mode: no command, wait for shells */
    bool         is_for_success; /* release only if the command exits with 0 */
    const char  *hostfile; /* NULL: no wait */
    const char  *report;   /* file for the result of muster's run; NULL: none */
    double       wait_s;
    char *const *command; /* NULL: none */
    pid_t        sshd, main; /* 0: not running */
    int          status;     /* of main */
    bool         is_ending;
    bool         is_leaving;
    bool         is_agents_turn; /* so far only the agents have received SIGTERM */
    struct leave leave;
    int64_t      until_ns;   /* 0: no limit */
};

static int  read_args(struct init *init, char **argv, struct error *err);
static int  end_worker(int number);
static int  start(struct init *init, const sigset_t *signals, struct error *err);
static int  live(struct init *init, const sigset_t *signals);
static void reap(struct init *init);
static void take_signal(struct init *init, int number);
static void release(void);
static void end_processes(struct init *init);
static bool tell_processes(int number, const char *name);

int main(int argc, char **argv)
{
    struct init  init = { .wait_s = WAIT_S };
    struct error err;
    sigset_t     signals;
    double       begun = report_time();
    int          exit_code;

    (void)argc;
    log_init("muster-init", LOG_WARN);
    if (argc == 2 && strcmp(argv[1], "--end") == 0)
        return end_worker(SIGUSR1);
    if (argc == 2 && strcmp(argv[1], "--leave") == 0)
        return end_worker(SIGUSR2);
    if (read_args(&init, argv + 1, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_USAGE;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (start(&init, &signals, &err) < 0) {
        log_error("%s", err.text);
        return EXIT_INTERNAL;
    }
    exit_code = live(&init, &signals);
    leave_clear(&init.leave);
    if (init.report != NULL)
        report_write(init.report, begun);
    if (init.does_release && !init.is_ending && (exit_code == 0 || !init.is_for_success))
        release();
    return exit_code;
}

static int read_args(struct init *init, char **argv, struct error *err)
{
    for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++) {
        if (strcmp(*argv, "--sshd") == 0)
            init->has_sshd = true;
        else if (strcmp(*argv, "--idle") == 0)
            init->is_idle = true;
        else if (strcmp(*argv, "--release") == 0)
            init->does_release = true;
        else if (strcmp(*argv, "--release=success") == 0)
            init->does_release = init->is_for_success = true;
        else if (strncmp(*argv, "--report=", 9) == 0)
            init->report = *argv + 9;
        else if (strncmp(*argv, "--wait=", 7) == 0)
            init->hostfile = init->leave.path = *argv + 7;
        else if (strncmp(*argv, "--wait-time=", 12) == 0) {
            if (parse_seconds(*argv + 12, 1, INT_MAX, &init->wait_s, err) < 0)
                return -1;
        } else
            return err_set(err, "unknown option '%.60s'; see muster-k8s(1)", *argv);
    }
    if (*argv != NULL && argv[1] != NULL)
        init->command = argv + 1;
    if (init->command == NULL && !init->has_sshd && !init->is_idle)
        return err_set(err, "usage: muster-init [--sshd] [--idle] [--wait=HOSTFILE] [--] "
                            "[COMMAND...]");
    return 0;
}

static int end_worker(int number)
{
    if (kill(1, number) == 0)
        return 0;
    log_error("process 1: %s", strerror(errno));
    return 1;
}

static int start(struct init *init, const sigset_t *signals, struct error *err)
{
    struct error why;
    bool         is_missing;

    if (init->has_sshd) {
        init->sshd = sshd_start(RUN_DIR, SECRETS_DIR, SSH_PORT, err);
        if (init->sshd < 0)
            return -1;
    }
    if (init->command == NULL)
        return 0;
    init->main = fork();
    if (init->main < 0)
        return err_set(err, "fork: %s", strerror(errno));
    if (init->main > 0)
        return 0;
    sigprocmask(SIG_UNBLOCK, signals, NULL);
    if (init->hostfile != NULL &&
        wait_for_hosts(init->hostfile, SSH_PORT, init->wait_s, &why) < 0) {
        log_error("%s", why.text);
        _exit(EXIT_WAITED);
    }
    execvp(init->command[0], init->command);
    is_missing = errno == ENOENT;
    log_error("%s: %s", init->command[0], strerror(errno));
    _exit(is_missing ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}

/* Runs until the container's purpose is done. Returns the exit status. */
static int live(struct init *init, const sigset_t *signals)
{
    struct timespec second = { .tv_sec = 1 };
    int             number;

    for (;;) {
        number = sigtimedwait(signals, NULL, &second);
        if (number == SIGCHLD)
            reap(init);
        else if (number > 0)
            take_signal(init, number);
        if (init->command != NULL && init->main == 0)
            return init->status;
        if (init->leave.path != NULL)
            leave_step(&init->leave);
        if (init->is_leaving && init->command == NULL && !tell_processes(0, NULL))
            return 0;
        if (init->is_agents_turn && !tell_processes(0, AGENT))
            end_processes(init); /* those that users have started in shells */
        if (init->command == NULL && init->is_ending &&
            (!tell_processes(0, NULL) || (init->until_ns > 0 && clock_now_ns() > init->until_ns)))
            return init->is_idle ? 128 + SIGTERM : 0; /* idle: nothing has succeeded */
        if (init->has_sshd && init->sshd == 0 && !init->is_ending) {
            log_error("sshd has exited: no more ranks can start here");
            return EXIT_INTERNAL;
        }
    }
}

static void reap(struct init *init)
{
    pid_t pid;
    int   status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == init->sshd)
            init->sshd = 0;
        if (pid != init->main)
            continue;
        init->main = 0;
        init->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

static void take_signal(struct init *init, int number)
{
    if (init->command != NULL) {
        /* A release of the workers reaches worker 0, too, which exits with its command. */
        if (number == SIGUSR1 || number == SIGUSR2)
            return;
        init->is_ending = true;
        kill(init->main, number);
        return;
    }
    if (number == SIGUSR2) { /* the launcher may still use this worker */
        init->is_leaving = true;
        return;
    }
    init->is_ending = true;
    if (number == SIGUSR1)
        init->until_ns = clock_now_ns() + LAST_S * NS_PER_S;
    else
        end_processes(init);
}

/* Sends SIGTERM to the agents first; later, or at a second signal, to all processes. */
static void end_processes(struct init *init)
{
    init->is_agents_turn = !init->is_agents_turn && tell_processes(SIGTERM, AGENT);
    if (!init->is_agents_turn)
        tell_processes(SIGTERM, NULL);
}

/* Ends the workers, which are done, to free their GPUs. This needs no rights in the cluster. */
static void release(void)
{
    pid_t pid = fork();
    int   status, null;

    if (pid == 0) {
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execlp("muster", "muster", "exec", "--hostfile=" HOSTS_DIR "/hostfile",
               "--ssh-config=" HOSTS_DIR "/ssh_config", "--timeout=" RELEASE_S, "--", "muster-init",
               "--end", (char *)NULL);
        _exit(EXIT_NOT_FOUND);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
}

/* Sends a signal to each process of the container except sshd and us. number 0: sends none;
 * name: only to processes with this name, NULL: to all. Returns whether there are any. */
static bool tell_processes(int number, const char *name)
{
    DIR           *proc = opendir("/proc");
    struct dirent *entry;
    char           path[64], its[64];
    bool           is_any = false;
    pid_t          pid;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 1 || pid == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
        if (fd_read_file(path, its, sizeof its) <= 0 || strncmp(its, "sshd", 4) == 0 ||
            (name != NULL && strncmp(its, name, strlen(name)) != 0))
            continue;
        is_any = true;
        if (number != 0)
            kill(pid, number);
    }
    if (proc != NULL)
        closedir(proc);
    return is_any;
}
