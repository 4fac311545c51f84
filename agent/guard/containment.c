/* containment.c - see containment.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/containment.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.h"
#include "node/process.h"
#include "node/test_switch.h"

/* Rounds of "stop the new processes" before killing: more than any normal tree needs to be
 * frozen, and a limit for one that forks forever. */
#define FREEZE_ROUNDS_MAX 50

/* Time for a child to enter its namespaces: a mount may hang, and until then the agent does
 * not read from the launcher. */
#define ANSWER_MS 5000

static void  freeze(const struct process *process);
static void  below_same(struct processes *all, const struct process *root);
static bool  layer_allowed(const char *name);
static pid_t fork_pidns(bool userns);
static bool  pidns_enter(bool userns, uid_t uid, gid_t gid);
static int   answer_read(int fd);

pid_t containment_fork(struct containment *contain, bool use_pidns)
{
    pid_t pid;

    *contain = (struct containment){ .pidns = true };
    if (use_pidns && layer_allowed("pidns")) {
        pid = geteuid() == 0 ? fork_pidns(false) : -1;
        if (pid < 0 && layer_allowed("userns")) {
            contain->userns = true;
            pid = fork_pidns(true);
        }
        contain->inside = pid == 0;
        if (pid >= 0)
            return pid;
    }
    *contain = (struct containment){ 0 };
    return fork();
}

void containment_reap_here(struct containment *contain, const char *run_id)
{
    if (contain->pidns)
        return;
    contain->subreaper = layer_allowed("subreaper") && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
    if (layer_allowed("cgroup"))
        cgroup_make(&contain->cgroup, run_id);
}

void containment_words(const struct containment *contain, char *words, size_t size)
{
    snprintf(words, size, "%s%s%s%slease", contain->userns ? "userns+" : "",
             contain->pidns ? "pidns+" : "", contain->cgroup.path[0] != '\0' ? "cgroup+" : "",
             contain->subreaper ? "subreaper+" : "");
}

void containment_signal(const struct containment *contain, pid_t root, int signal)
{
    struct processes all;
    size_t           i;

    if (contain->inside) {
        kill(-1, signal);
        return;
    }
    processes_below(&all, root);
    for (i = 0; i < all.count; i++)
        process_signal(&all.item[i], signal);
    processes_clear(&all);
}

void containment_kill(const struct containment *contain, pid_t root)
{
    struct process self;

    if (contain->inside) {
        kill(-1, SIGKILL);
        return;
    }
    cgroup_kill(&contain->cgroup);
    if (process_read(root, &self))
        containment_kill_below(&self);
}

/* Freezes the processes until no new one appears, since a process that forks faster than we
 * find it would escape. A frozen process cannot reap, so its children's pids are not reused. A
 * signal to a process group also reaches children that are being forked. */
void containment_kill_below(const struct process *root)
{
    struct processes all = { 0 };
    size_t           i, running = 1;
    int              rounds = 0;

    while (running > 0 && rounds++ < FREEZE_ROUNDS_MAX) {
        processes_clear(&all);
        below_same(&all, root);
        running = 0;
        for (i = 0; i < all.count; i++) {
            if (all.item[i].state == 'T' || all.item[i].state == 'D')
                continue;
            freeze(&all.item[i]);
            running++;
        }
    }
    for (i = 0; i < all.count; i++)
        process_signal(&all.item[i], SIGKILL);
    processes_clear(&all);
}

/* The number of a group that has ended is reused only after all other
 * numbers, long after this moment. */
static void freeze(const struct process *process)
{
    if (process->whole)
        kill(-process->group, SIGSTOP);
    else
        process_signal(process, SIGSTOP);
}

int containment_count(const struct containment *contain, pid_t root)
{
    struct processes all;
    int              count;

    (void)contain;
    processes_below(&all, root);
    count = (int)all.count;
    processes_clear(&all);
    return count;
}

/* Returns none if root's pid belongs to another process by now: while root lives,
 * no other process has it. */
static void below_same(struct processes *all, const struct process *root)
{
    struct process now;

    processes_below(all, root->pid);
    if (!process_read(root->pid, &now) || now.start != root->start)
        processes_clear(all);
}

static bool layer_allowed(const char *name)
{
    const char *list = test_switch(TEST_SWITCH_CONTAIN), *at;
    size_t      length = strlen(name);

    if (list == NULL)
        return true;
    for (at = list; at != NULL; at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 1)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* Like fork(), into new PID and mount namespaces. -1 if the node does not allow
 * them, or not the /proc that programs inside need. The child reports over a
 * socket pair when it is inside. */
static pid_t fork_pidns(bool userns)
{
    int   flags = SIGCHLD | CLONE_NEWPID | CLONE_NEWNS | (userns ? CLONE_NEWUSER : 0);
    uid_t uid = geteuid();
    gid_t gid = getegid();
    int   pair[2], answer = 0;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    /* glibc's fork() takes no flags. The stack and the other arguments are 0, as for fork(). */
    pid = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (pid == 0) {
        close(pair[0]);
        if (!pidns_enter(userns, uid, gid) || write(pair[1], "", 1) != 1)
            _exit(1);
        close(pair[1]);
        return 0;
    }
    close(pair[1]);
    if (pid > 0)
        answer = answer_read(pair[0]);
    if (pid > 0 && answer <= 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, answer < 0 ? WNOHANG : 0); /* it may be stuck */
        pid = -1;
    }
    close(pair[0]);
    return pid;
}

/* Only /proc becomes private. Other mounts that the ranks make affect the node as they would
 * without muster, so `muster exec -- mount ...` works. */
static bool pidns_enter(bool userns, uid_t uid, gid_t gid)
{
    char map[64];

    if (userns) {
        fd_write_file("/proc/self/setgroups", "deny"); /* else gid_map is refused */
        snprintf(map, sizeof map, "%u %u 1", (unsigned)uid, (unsigned)uid);
        if (!fd_write_file("/proc/self/uid_map", map))
            return false;
        snprintf(map, sizeof map, "%u %u 1", (unsigned)gid, (unsigned)gid);
        if (!fd_write_file("/proc/self/gid_map", map))
            return false;
    }
    return mount("none", "/proc", "none", MS_PRIVATE, NULL) == 0 &&
           mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

/* Returns 1: the child is inside; 0: it failed; -1: no answer in time. */
static int answer_read(int fd)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    char          byte;
    int           rc;

    while ((rc = poll(&wait, 1, ANSWER_MS)) < 0 && errno == EINTR)
        ;
    return rc > 0 ? read(fd, &byte, 1) == 1 : -1;
}
