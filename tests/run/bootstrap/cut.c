/* cut N FILE COMMAND... - run it until the power goes: before its N-th call that changes something
 * it is killed, and everything that it has started
 *
 * 0: it is not killed. How many such calls it has made comes into FILE. Exits as COMMAND does, or
 * with 99 if it was killed. The calls of what it has started are not counted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUT    99
#define BROKEN 98

static long follow(pid_t child, long last, int *status);
static bool is_change(pid_t child);
static void kill_all(void);

int main(int argc, char **argv)
{
    long  last = argc > 3 ? atol(argv[1]) : 0, made;
    FILE *file = argc > 3 ? fopen(argv[2], "w") : NULL;
    int   status = 0;
    pid_t child;

    if (file == NULL || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || (child = fork()) < 0)
        return BROKEN;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            execvp(argv[3], argv + 3);
        _exit(BROKEN);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
        return BROKEN;
    made = follow(child, last, &status);
    fprintf(file, "%ld\n", made);
    fclose(file);
    if (last > 0 && made == last) {
        kill_all();
        return CUT;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Until it has ended, or is about to make the last call. */
static long follow(pid_t child, long last, int *status)
{
    long made = 0;
    int  signal = 0;

    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    while (ptrace(PTRACE_SYSCALL, child, NULL, (void *)(intptr_t)signal) == 0 &&
           waitpid(child, status, 0) == child && WIFSTOPPED(*status)) {
        signal = WSTOPSIG(*status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(*status);
        if (signal == 0 && is_change(child) && ++made == last)
            break;
    }
    return made;
}

static bool is_change(pid_t child)
{
    static const uint64_t changes[] = {
        SYS_write, SYS_fsync, SYS_fchmod, SYS_fchmodat, SYS_unlinkat, SYS_mkdirat, SYS_mount,
        SYS_umount2, SYS_clone,
#ifdef SYS_rename /* older ways of the same, which newer machines do not have */
        SYS_rename, SYS_unlink, SYS_mkdir, SYS_rmdir, SYS_chmod, SYS_fork, SYS_vfork,
#else
        SYS_renameat, SYS_renameat2,
#endif
    };
    struct __ptrace_syscall_info info = { 0 };
    size_t                       i;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return false;
    for (i = 0; i < sizeof changes / sizeof *changes; i++)
        if (info.entry.nr == changes[i])
            return true;
    return false;
}

/* Those whose parent has died are ours. */
static void kill_all(void)
{
    FILE *children;
    int   pid;

    do {
        children = fopen("/proc/thread-self/children", "r");
        while (children != NULL && fscanf(children, "%d", &pid) == 1)
            kill(pid, SIGKILL);
        if (children != NULL)
            fclose(children);
    } while (waitpid(-1, NULL, 0) > 0);
}
