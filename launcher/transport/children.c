/* children.c - see children.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/children.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "xalloc.h"

/* Global, because a process has one set of children. */
static pid_t *ending;
static size_t ending_count;

pid_t child_fork(void)
{
    sigset_t all, before;
    pid_t    pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid != 0)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Ignoring a signal for a moment discards a pending one. */
void child_signals_begin(void)
{
    sigset_t none;
    int      i;

    for (i = 1; i < NSIG; i++) {
        signal(i, SIG_IGN);
        signal(i, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

bool child_is_gone(pid_t pid)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) < 0 || info.si_pid == pid;
}

void children_ending(pid_t pid)
{
    if (child_is_gone(pid))
        return;
    ending = xreallocarray(ending, ending_count + 1, sizeof *ending);
    ending[ending_count++] = pid;
}

void children_await(double limit_s)
{
    const struct timespec pause = { .tv_nsec = NS_PER_S / 500 };
    int64_t               until_ns = clock_now_ns() + (int64_t)(limit_s * NS_PER_S);

    while (ending_count > 0) {
        if (child_is_gone(ending[ending_count - 1]))
            ending_count--;
        else if (clock_now_ns() < until_ns)
            nanosleep(&pause, NULL);
        else
            break;
    }
    free(ending);
    ending = NULL;
    ending_count = 0;
}
