/* limits.c - see limits.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_code.h"
#include "fd.h"
#include "guard/cgroup.h"

/* For the agent itself: the link, the reconnect socket, signals, and files that are open for
 * a moment. */
#define DESCRIPTORS_OWN 32

static int  check_descriptors(const struct node_plan *plan, struct failure *failure);
static int  check_user(const struct node_plan *plan, struct failure *failure);
static int  check_group(const struct node_plan *plan, struct failure *failure);
static long tasks_of(const struct node_plan *plan);
static long count_tasks(uid_t uid);
static bool read_number(const char *directory, const char *name, long *number);

void limits_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int limits_check(const struct node_plan *plan, struct failure *failure)
{
    return check_descriptors(plan, failure) < 0 || check_user(plan, failure) < 0 ||
                   check_group(plan, failure) < 0
               ? -1 : 0;
}

/* For each rank: stdout, stderr, PMI, its log file and the eventfd of that. */
static int check_descriptors(const struct node_plan *plan, struct failure *failure)
{
    int           each = 2 + (plan->kvsname != NULL) + 2 * (plan->log_dir != NULL);
    rlim_t        need = DESCRIPTORS_OWN + (rlim_t)plan->ranks * (rlim_t)each;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
        return 0;
    return failure_set(failure, EXIT_CREATE, "raise ulimit -Hn on that node",
                       "%d ranks need %ju file descriptors, but the limit is %ju", plan->ranks,
                       (uintmax_t)need, (uintmax_t)limit.rlim_cur);
}

/* ulimit -u: it counts threads, and does not apply to root. */
static int check_user(const struct node_plan *plan, struct failure *failure)
{
    struct rlimit limit;
    long          tasks;

    if (geteuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    tasks = count_tasks(geteuid());
    if ((rlim_t)(tasks + tasks_of(plan)) <= limit.rlim_cur)
        return 0;
    return failure_set(failure, EXIT_CREATE, "raise ulimit -u on that node",
                       "%d ranks do not fit: this user has %ld processes and threads, the"
                       " limit is %ju", plan->ranks, tasks, (uintmax_t)limit.rlim_cur);
}

/* The pids controller: the limit of a container, TasksMax of a systemd session or of a
 * slice above it. */
static int check_group(const struct node_plan *plan, struct failure *failure)
{
    const size_t top = strlen("/sys/fs/cgroup");
    char         path[512];
    long         most, tasks;

    if (!cgroup_own("pids", path, sizeof path) && !cgroup_own("", path, sizeof path))
        return 0;
    for (; strlen(path) > top; *strrchr(path, '/') = '\0')
        if (read_number(path, "pids.max", &most) && read_number(path, "pids.current", &tasks) &&
            tasks + tasks_of(plan) > most)
            return failure_set(failure, EXIT_CREATE, "raise TasksMax on that node",
                               "%d ranks do not fit: the control group %s has %ld processes and"
                               " threads, the limit is %ld", plan->ranks, path, tasks, most);
    return 0;
}

/* Processes, and a thread for each log file. */
static long tasks_of(const struct node_plan *plan)
{
    return plan->log_dir != NULL ? 2L * plan->ranks : plan->ranks;
}

static long count_tasks(uid_t uid)
{
    DIR           *proc = opendir("/proc");
    struct dirent *entry;
    struct stat    about;
    char           path[64];
    long           tasks = 0;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        /* One directory for each thread, besides "." and "..". */
        snprintf(path, sizeof path, "/proc/%.20s/task", entry->d_name);
        if (stat(path, &about) == 0 && about.st_uid == uid)
            tasks += (long)about.st_nlink - 2;
    }
    if (proc != NULL)
        closedir(proc);
    return tasks;
}

/* Also false for "max". */
static bool read_number(const char *directory, const char *name, long *number)
{
    char path[600], text[32], *end;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (fd_read_file(path, text, sizeof text) <= 0)
        return false;
    *number = strtol(text, &end, 10);
    return end != text;
}
