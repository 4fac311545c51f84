/* children.c - see children.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "transport/children.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "clock.h"
#include "xalloc.h"

/* Global, because a process has one set of children. */
static pid_t *ending;
static size_t ending_count;

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
