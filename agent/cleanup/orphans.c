/* orphans.c - see orphans.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cleanup/orphans.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup/start_shell.h"
#include "fd.h"
#include "guard/cgroup.h"
#include "node/open_files.h"
#include "xalloc.h"

#define RUN_VARIABLE  "MUSTER_RUN_ID="
#define ENVIRON_MAX   (4u << 20) /* bytes read per process */
#define ANCESTORS_MAX 64
#define KTHREADD      2          /* parent of the kernel's own threads */

static ino_t            network_of(pid_t pid);
static bool            may_be_here(pid_t pid);
static enum orphan_what what_is(pid_t pid, bool with_shells, char *run, bool *is_spared);
static bool            is_ours(pid_t pid);
static bool            is_agent_file(pid_t pid);
static bool            run_of(pid_t pid, char *run);
static bool            is_ourselves(const struct processes *all, pid_t pid);
static bool            is_known(const struct orphans *orphans,
                                const struct process *process);
static void            judge(struct orphans *orphans, const struct processes *all);
static void            name_agents(const struct orphans *orphans, const struct orphan *rank,
                                   const struct processes *all);
static struct orphan   *agent_of(const struct orphans *orphans, pid_t pid);
static bool            is_same(const struct process *one, const struct process *other);
static bool            is_healthy(const struct orphan *agent);
static bool            is_stopped(const struct orphan *agent);
static bool            has_reconnect_socket(const struct orphan *agent);
static bool            descends_from(const struct processes *all, pid_t pid,
                                     pid_t ancestor);

void orphans_look(struct orphans *orphans)
{
    struct processes all;
    struct orphan    one;
    size_t           i;
    bool             ourselves;

    if (orphans->item == NULL)
        orphans->item = xcalloc(1, sizeof *orphans->item); /* item + count is a pointer then */
    processes_wanted(&all, orphans->own_network ? may_be_here : NULL);
    for (i = 0; i < all.count && orphans->count < ORPHANS_MAX; i++) {
        one = (struct orphan){ .process = all.item[i] };
        if (one.process.state == 'Z' || one.process.parent == KTHREADD ||
            one.process.pid == getpid() || is_known(orphans, &one.process) ||
            (orphans->started_by > 0 && one.process.start > orphans->started_by))
            continue;
        one.what = what_is(one.process.pid, orphans->with_shells, one.run, &one.is_spared);
        ourselves = one.what != ORPHAN_NONE && is_ourselves(&all, one.process.pid);
        one.is_spared = one.is_spared || ourselves;
        if (one.what == ORPHAN_NONE || (one.what == ORPHAN_RANK && ourselves) ||
            (one.about = process_about(&one.process)) == NULL)
            continue;
        orphans->item = xreallocarray(orphans->item, orphans->count + 1, sizeof *orphans->item);
        orphans->item[orphans->count++] = one;
    }
    judge(orphans, &all);
    processes_clear(&all);
}

void orphans_clear(struct orphans *orphans)
{
    size_t i;

    for (i = 0; i < orphans->count; i++)
        json_decref(orphans->item[i].about);
    free(orphans->item);
    *orphans = (struct orphans){ 0 };
}

bool orphans_are_full(const struct orphans *orphans)
{
    return orphans->count == ORPHANS_MAX;
}

void orphans_forget_gone(struct orphans *orphans)
{
    size_t i, kept = 0;

    for (i = 0; i < orphans->count; i++)
        if (orphans->item[i].is_gone)
            json_decref(orphans->item[i].about);
        else
            orphans->item[kept++] = orphans->item[i];
    orphans->count = kept;
}

/* Checks whether it was started as the launcher starts an agent. */
bool orphans_is_agent(pid_t pid)
{
    char    path[64], line[PATH_MAX + 64];
    ssize_t size;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    size = fd_read_file(path, line, sizeof line);
    return size >= (ssize_t)(strlen(line) + 1 + sizeof "--nonce") &&
           strcmp(line + strlen(line) + 1, "--nonce") == 0;
}

bool orphan_is_left(const struct orphan *orphan)
{
    return orphan->what == ORPHAN_RANK && !orphan->has_agent &&
           network_of(orphan->process.pid) == network_of(getpid());
}

/* A process that has cleared its environment still descends from an agent. One that does not,
 * such as a daemon, has only its environment or its control group. */
bool orphans_run_of(const struct orphans *orphans, const struct process *process,
                    char run[ORPHAN_RUN_ID_MAX], bool *is_running)
{
    const struct orphan *one, *end = orphans->item + orphans->count;
    bool                 is_of_run;

    *is_running = false;
    is_of_run = run_of(process->pid, run) || cgroup_run_of(process->pid, run, ORPHAN_RUN_ID_MAX);
    for (one = orphans->item; one < end; one++) {
        if (one->is_gone || (!is_same(&one->process, process) &&
                             (one->what != ORPHAN_AGENT ||
                              !process_is_below(process->pid, one->process.pid))))
            continue;
        is_of_run = true;
        *is_running = *is_running || one->is_running;
        if (run[0] == '\0')
            memcpy(run, one->run, sizeof one->run);
    }
    for (one = orphans->item; one < end && run[0] != '\0'; one++)
        *is_running = *is_running || (one->is_running && strcmp(one->run, run) == 0);
    return is_of_run;
}

void orphans_refresh(struct orphans *orphans)
{
    struct processes      all;
    const struct process *now;
    struct orphan        *one;

    processes_all(&all);
    for (one = orphans->item; one < orphans->item + orphans->count; one++) {
        now = processes_find(&all, one->process.pid);
        one->is_gone = now == NULL || now->start != one->process.start || now->state == 'Z';
        if (!one->is_gone)
            one->process = *now;
    }
    judge(orphans, &all);
    processes_clear(&all);
}

void orphan_signal(struct orphan *orphan, int signal)
{
    char run[ORPHAN_RUN_ID_MAX];
    bool is_of_shell = orphan->what == ORPHAN_RANK && orphan->run[0] == '\0';
    bool is_spared;

    if (orphan->is_spared || orphan->is_gone)
        return;
    /* Once a hung shell has exited, its children cannot be recognized any more. */
    if (!is_of_shell && (what_is(orphan->process.pid, false, run, &is_spared) != orphan->what ||
                         is_spared))
        return;
    process_signal(&orphan->process, signal);
    orphan->is_signalled = true;
}

/* --- what a process is ------------------------------------------------------ */

/* True also if we may not know: an agent may be such a process. */
static bool may_be_here(pid_t pid)
{
    static ino_t ours;
    ino_t        its = network_of(pid);

    if (ours == 0)
        ours = network_of(getpid());
    return its == 0 || its == ours;
}

/* Returns 0 if we may not know. */
static ino_t network_of(pid_t pid)
{
    struct stat its;
    char        path[64];

    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    return stat(path, &its) == 0 ? its.st_ino : 0;
}

/* Classifies the process; run is filled for a rank. A process that only looks like an agent
 * must not be killed, but processes below it may have an agent in it. */
static enum orphan_what what_is(pid_t pid, bool with_shells, char *run, bool *is_spared)
{
    run[0] = '\0';
    *is_spared = false;
    if (orphans_is_agent(pid)) {
        *is_spared = !is_ours(pid) || !is_agent_file(pid);
        return ORPHAN_AGENT;
    }
    return (run_of(pid, run) || cgroup_run_of(pid, run, ORPHAN_RUN_ID_MAX) ||
            (with_shells && start_shell_has(pid))) && is_ours(pid)
               ? ORPHAN_RANK : ORPHAN_NONE;
}

/* Called last: of all files in /proc/PID, the kernel takes longest for this one. Root by sudo also
 * cleans up after the user who has called sudo. */
static bool is_ours(pid_t pid)
{
    uid_t uid;

    return process_uid(pid, &uid) && (uid == getuid() || uid == user_login());
}

/* Recognizes the agent by its executable, wherever that was copied to: the same file as ours,
 * or one in a directory that is named by a hash. */
static bool is_agent_file(pid_t pid)
{
    char        path[64], exe[PATH_MAX], *folder;
    struct stat its, ours;
    ssize_t     size;

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (stat(path, &its) == 0 && stat("/proc/self/exe", &ours) == 0 &&
        its.st_dev == ours.st_dev && its.st_ino == ours.st_ino)
        return true;
    size = readlink(path, exe, sizeof exe - 1);
    exe[size > 0 ? size : 0] = '\0';
    folder = strrchr(exe, '/');
    if (folder == NULL || strncmp(folder, "/muster-agent", strlen("/muster-agent")) != 0)
        return false;
    *folder = '\0';
    folder = strrchr(exe, '/');
    return folder != NULL && strspn(folder + 1, "0123456789abcdef") == 64;
}

/* Finds the run in the process's environment; false if there is none. */
static bool run_of(pid_t pid, char *run)
{
    const size_t length = strlen(RUN_VARIABLE);
    char         path[64], *environment, *at, *end;
    ssize_t      size;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    environment = xmalloc(ENVIRON_MAX);
    size = fd_read_file(path, environment, ENVIRON_MAX);
    end = environment + (size > 0 ? size : 0);
    for (at = environment; at < end && strncmp(at, RUN_VARIABLE, length) != 0; at += strlen(at) + 1)
        ;
    snprintf(run, ORPHAN_RUN_ID_MAX, "%s", at < end ? at + length : "");
    free(environment);
    return run[0] != '\0';
}

/* This process, its ancestors and descendants: they may have the variable themselves, if a
 * rank calls muster clean. */
static bool is_ourselves(const struct processes *all, pid_t pid)
{
    return descends_from(all, getpid(), pid) || descends_from(all, pid, getpid());
}

static bool is_known(const struct orphans *orphans, const struct process *process)
{
    size_t i;

    for (i = 0; i < orphans->count; i++)
        if (is_same(&orphans->item[i].process, process))
            return true;
    return false;
}

/* --- whether a run is running ----------------------------------------------- */

/* The agent above a process shows whether its run is running. A guard looks like an agent, but
 * has one above it: if that agent is sick, the guard is no sign of life. An agent that has lost
 * its parent may continue in another network namespace, as another node of the run. */
static void judge(struct orphans *orphans, const struct processes *all)
{
    struct orphan *begin = orphans->item, *end = begin + orphans->count, *one, *agent;
    bool           has_sick, is_lost;

    for (one = begin; one < end; one++)
        if (one->what == ORPHAN_RANK && !one->is_gone)
            name_agents(orphans, one, all);
    for (one = begin; one < end; one++) {
        if (one->is_gone)
            continue;
        one->has_agent = one->is_draining = has_sick = false;
        for (agent = begin; agent < end; agent++) {
            if (agent->what != ORPHAN_AGENT || agent->is_gone ||
                !descends_from(all, one->process.pid, agent->process.pid))
                continue;
            is_lost = is_same(&agent->process, &orphans->given_up);
            one->is_given_up = one->is_given_up || (is_lost && is_stopped(agent));
            has_sick = has_sick || !is_healthy(agent);
            if (is_stopped(agent) && agent->process.parent <= 1)
                continue; /* it will do nothing more */
            one->has_agent = true;
            one->is_draining = one->is_draining || is_lost ||
                               (agent->process.parent <= 1 && may_be_here(agent->process.pid));
        }
        one->is_running = one->has_agent && !has_sick;
    }
}

/* Agents get the run's id from their ranks. Above a rank is the guard, above the guard the
 * agent; further up there may be agents of a run in which all of this is one rank. */
static void name_agents(const struct orphans *orphans, const struct orphan *rank,
                        const struct processes *all)
{
    const struct process *above = &rank->process;
    struct orphan        *agent = NULL;
    int                   steps;

    for (steps = 0; agent == NULL && above != NULL && steps < ANCESTORS_MAX; steps++) {
        agent = agent_of(orphans, above->parent);
        above = processes_find(all, above->parent);
    }
    for (; agent != NULL; agent = agent_of(orphans, agent->process.parent))
        memcpy(agent->run, rank->run, sizeof agent->run);
}

static struct orphan *agent_of(const struct orphans *orphans, pid_t pid)
{
    size_t i;

    for (i = 0; i < orphans->count; i++)
        if (orphans->item[i].what == ORPHAN_AGENT && orphans->item[i].process.pid == pid)
            return &orphans->item[i];
    return NULL;
}

static bool is_same(const struct process *one, const struct process *other)
{
    return one->pid == other->pid && one->start == other->start;
}

/* An agent that is not stopped has a launcher, or will exit soon. In a container the
 * launcher may be process 1. */
static bool is_healthy(const struct orphan *agent)
{
    char name[32];

    if (is_stopped(agent))
        return false;
    if (agent->process.parent > 1 || agent->is_spared)
        return true;
    fd_read_file("/proc/1/comm", name, sizeof name);
    return strcmp(name, "muster\n") == 0 || has_reconnect_socket(agent);
}

/* True if it was stopped by a signal or a debugger. */
static bool is_stopped(const struct orphan *agent)
{
    return agent->process.state == 'T' || agent->process.state == 't';
}

/* An agent whose SSH session has died has no parent until the run ends, but the run continues
 * once the launcher reconnects: see doc/PROTOCOL, section 6. Its reconnect socket stays open.
 * Any process can listen under such a name, so this looks among the files that the agent has
 * open. Connecting would prove less: a busy agent may be slow to answer. */
static bool has_reconnect_socket(const struct orphan *agent)
{
    char          line[512], start[ORPHAN_RUN_ID_MAX + 16];
    FILE         *sockets = agent->run[0] != '\0' ? fopen("/proc/net/unix", "re") : NULL;
    unsigned long inode;
    bool          found = false;

    snprintf(start, sizeof start, " @muster-%s-", agent->run);
    while (sockets != NULL && !found && fgets(line, sizeof line, sockets) != NULL)
        found = strstr(line, start) != NULL &&
                sscanf(line, "%*s %*s %*s %*s %*s %*s %lu", &inode) == 1 &&
                open_files_socket(agent->process.pid, inode);
    if (sockets != NULL)
        fclose(sockets);
    return found;
}

static bool descends_from(const struct processes *all, pid_t pid, pid_t ancestor)
{
    const struct process *process;
    int                   steps = 0;

    for (; pid > 1 && pid != ancestor && steps < ANCESTORS_MAX; steps++) {
        process = processes_find(all, pid);
        pid = process != NULL ? process->parent : 0;
    }
    return pid == ancestor;
}
