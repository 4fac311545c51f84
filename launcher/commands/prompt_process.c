/* prompt_process.c - see prompt_process.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/prompt_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit_code.h"
#include "log.h"

static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
#define TAKEN (sizeof taken / sizeof *taken)

static struct sigaction      before[TAKEN]; /* what muster was started with */
static sigset_t              all, unblocked;
static bool                  ctrl_c_ends;
static volatile sig_atomic_t ending;      /* the signal */
static volatile sig_atomic_t interrupted; /* by Ctrl-C, which the prompt has not handled yet */
static volatile pid_t        child;       /* 0: none */

static void take(int number, siginfo_t *info, void *context);
static void become_child(bool has_terminal, pid_t parent);
static int  await(pid_t pid);

/* Ctrl-Z would stop the prompt but not the line, whose muster ignores it; nor may Ctrl-\ end the
 * prompt alone. */
void prompt_process_begin(bool is_terminal)
{
    struct sigaction action = { .sa_sigaction = take, .sa_flags = SA_SIGINFO };
    size_t           i;

    ctrl_c_ends = !is_terminal;
    sigemptyset(&all);
    for (i = 0; i < TAKEN; i++)
        sigaddset(&all, taken[i]);
    action.sa_mask = all;
    sigprocmask(SIG_BLOCK, NULL, &unblocked);
    for (i = 0; i < TAKEN; i++) {
        sigaction(taken[i], NULL, &before[i]);
        if (taken[i] == SIGQUIT || taken[i] == SIGTSTP)
            signal(taken[i], SIG_IGN);
        else if (before[i].sa_handler != SIG_IGN)
            sigaction(taken[i], &action, NULL);
    }
}

int prompt_process_ending(void)
{
    return ending;
}

int prompt_process_wait_input(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    sigset_t      mask;
    int           rc = 0;

    sigprocmask(SIG_BLOCK, &all, &mask);
    while (rc == 0 && ending == 0 && !interrupted)
        rc = ppoll(&input, 1, NULL, &unblocked);
    rc = ending != 0 || interrupted ? -1 : 0;
    interrupted = false;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return rc;
}

int prompt_process_fork(bool has_terminal, struct error *err)
{
    struct sigaction stops = { .sa_handler = SIG_DFL };
    pid_t            parent = getpid(), pid;
    int              status;

    fflush(stdout);
    sigprocmask(SIG_BLOCK, &all, NULL);
    pid = fork();
    if (pid == 0) {
        become_child(has_terminal, parent);
        return -1;
    }
    child = pid > 0 ? pid : 0;
    if (has_terminal) /* a program that somebody stops: the prompt stops with it */
        sigaction(SIGTSTP, &stops, NULL);
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    if (pid < 0) {
        err_set(err, "fork: %s", strerror(errno));
        return -2;
    }
    status = await(pid);
    signal(SIGTSTP, SIG_IGN);
    if (!ctrl_c_ends)
        interrupted = false; /* it was for the child */
    return status;
}

/* A signal of the terminal reaches the child, too; one that somebody sent does not. */
static void take(int number, siginfo_t *info, void *context)
{
    (void)context;
    interrupted = interrupted || number == SIGINT;
    if (number != SIGINT || ctrl_c_ends)
        ending = number;
    if (child > 0 && info->si_code <= 0)
        kill(child, number);
}

static void become_child(bool has_terminal, pid_t parent)
{
    int    null = -1;
    size_t i;

    child = 0;
    for (i = 0; i < TAKEN; i++)
        sigaction(taken[i], &before[i], NULL);
    if (!has_terminal || !isatty(STDIN_FILENO))
        null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    if (null > STDIN_FILENO)
        close(null);
    /* If the prompt is killed, a line for the nodes ends as after SIGTERM. */
    if (!has_terminal)
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    if (!has_terminal && getppid() != parent)
        raise(SIGTERM);
}

static int await(pid_t pid)
{
    siginfo_t info;
    int       status;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    child = 0; /* its number may soon be that of another process */
    if (waitpid(pid, &status, 0) < 0)
        return EXIT_INTERNAL;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (WTERMSIG(status) != SIGINT)
        log_error("the process of this line was killed by %s",
                  signal_name(WTERMSIG(status)).text);
    return 128 + WTERMSIG(status);
}
