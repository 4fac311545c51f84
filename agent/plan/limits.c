/* limits.c - see limits.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_code.h"
#include "fd.h"
#include "guard/cgroup.h"

/* Descriptors of the agent itself: the link, the reconnect socket, signals, and files
 * that are open for a moment. */
#define DESCRIPTORS_OWN 32

#define HINT_USER  "raise ulimit -u on that node"
#define HINT_GROUP "raise TasksMax on that node"

static int  check_descriptors(const struct node_plan *plan, struct failure *failure);
static int  check_user(const struct node_plan *plan, struct failure *failure);
static int  check_group(const struct node_plan *plan, struct failure *failure);
static bool name_limit(struct failure *failure, int error, char *limit, size_t size);
static void name_tasks(struct failure *failure, char *limit, size_t size);
static bool full_group(long more, char *path, size_t size, long *tasks, long *most);
static bool full_group_of(const char *controller, long more, char *path, size_t size,
                          long *tasks, long *most);
static long tasks_of(const struct node_plan *plan);
static long count_tasks(uid_t uid);
static bool read_number(const char *directory, const char *name, long *number);

int limits_check(const struct node_plan *plan, struct failure *failure)
{
    return check_descriptors(plan, failure) < 0 || check_user(plan, failure) < 0 ||
                   check_group(plan, failure) < 0
               ? -1 : 0;
}

/* Each rank needs stdout, stderr, PMI, its log file and the eventfd of the log file; some need
 * stdin. */
static int check_descriptors(const struct node_plan *plan, struct failure *failure)
{
    int           each = 2 + (plan->kvsname != NULL) + 2 * (plan->log_dir != NULL), i;
    rlim_t        need = DESCRIPTORS_OWN + (rlim_t)plan->ranks * (rlim_t)each;
    struct rlimit limit;

    for (i = 0; i < plan->ranks; i++)
        need += plan->rank[i].input != INPUT_NOWHERE;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
        return 0;
    return failure_set(failure, EXIT_CREATE, "raise ulimit -Hn on that node",
                       "%d ranks need %ju file descriptors, but the limit (RLIMIT_NOFILE) is %ju",
                       plan->ranks, (uintmax_t)need, (uintmax_t)limit.rlim_cur);
}

/* Checks ulimit -u, which counts threads and does not apply to root. */
static int check_user(const struct node_plan *plan, struct failure *failure)
{
    struct rlimit limit;
    long          tasks;

    if (geteuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    tasks = count_tasks(geteuid());
    if ((rlim_t)(tasks + tasks_of(plan)) <= limit.rlim_cur)
        return 0;
    return failure_set(failure, EXIT_CREATE, HINT_USER,
                       "%d ranks do not fit: this user has %ld processes and threads, the"
                       " limit (RLIMIT_NPROC) is %ju", plan->ranks, tasks,
                       (uintmax_t)limit.rlim_cur);
}

/* Checks the pids controller: the limit of a container, TasksMax of a systemd
 * session or of a slice above it. */
static int check_group(const struct node_plan *plan, struct failure *failure)
{
    char path[512];
    long most, tasks;

    if (!full_group(tasks_of(plan), path, sizeof path, &tasks, &most))
        return 0;
    return failure_set(failure, EXIT_CREATE, HINT_GROUP,
                       "%d ranks do not fit: the control group %s has %ld processes and threads,"
                       " the limit (pids.max) is %ld", plan->ranks, path, tasks, most);
}

void limits_failure(struct failure *failure, int error, const char *format, ...)
{
    char    text[600], limit[700];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    failure_set(failure, EXIT_CREATE, "", "%s", text);
    if (name_limit(failure, error, limit, sizeof limit))
        err_set(&failure->why, "%s: %s", text, limit);
}

static bool name_limit(struct failure *failure, int error, char *limit, size_t size)
{
    struct rlimit most = { 0 };

    switch (error) {
    case EAGAIN:
        name_tasks(failure, limit, size);
        return true;
    case EMFILE:
    case ETOOMANYREFS: /* descriptors that are in flight to another process */
        getrlimit(RLIMIT_NOFILE, &most);
        snprintf(limit, size, "the limit on file descriptors (RLIMIT_NOFILE) is %ju",
                 (uintmax_t)most.rlim_cur);
        snprintf(failure->hint, sizeof failure->hint, "raise ulimit -Hn on that node");
        return true;
    case EFBIG:
        getrlimit(RLIMIT_FSIZE, &most);
        snprintf(limit, size, "the file size limit (RLIMIT_FSIZE) is %ju bytes",
                 (uintmax_t)most.rlim_cur);
        snprintf(failure->hint, sizeof failure->hint, "raise ulimit -f on that node");
        return true;
    case ENFILE:
        snprintf(limit, size,
                 "the open files of that machine have reached /proc/sys/fs/file-max");
        snprintf(failure->hint, sizeof failure->hint, "raise fs.file-max on that node");
        return true;
    default:
        return false;
    }
}

/* Names the limit that was reached or, since other processes may have ended by
 * now, the limits that exist. */
static void name_tasks(struct failure *failure, char *limit, size_t size)
{
    struct rlimit user = { RLIM_INFINITY, RLIM_INFINITY };
    char          path[512];
    long          tasks = 0, most;

    if (full_group(1, path, sizeof path, &tasks, &most)) {
        snprintf(limit, size, "the control group %s has %ld processes and threads, the limit"
                 " (pids.max) is %ld", path, tasks, most);
        snprintf(failure->hint, sizeof failure->hint, HINT_GROUP);
        return;
    }
    getrlimit(RLIMIT_NPROC, &user);
    if (geteuid() != 0 && user.rlim_cur != RLIM_INFINITY) {
        snprintf(limit, size, "the user with uid %u has %ld processes and threads, the limit"
                 " (RLIMIT_NPROC) is %ju", (unsigned)geteuid(), count_tasks(geteuid()),
                 (uintmax_t)user.rlim_cur);
        snprintf(failure->hint, sizeof failure->hint, HINT_USER);
        return;
    }
    if (!read_number("/proc/sys/kernel", "threads-max", &most))
        most = 0;
    snprintf(limit, size,
             "a process limit was reached temporarily (pids.max of a control group, or "
             "kernel.threads-max, which is %ld)",
             most);
    snprintf(failure->hint, sizeof failure->hint, HINT_GROUP);
}

/* Finds a group of ours that has too little space for that many more. */
static bool full_group(long more, char *path, size_t size, long *tasks, long *most)
{
    return full_group_of("pids", more, path, size, tasks, most) ||
           full_group_of("", more, path, size, tasks, most);
}

static bool full_group_of(const char *controller, long more, char *path, size_t size,
                          long *tasks, long *most)
{
    const size_t top = strlen("/sys/fs/cgroup");

    if (!cgroup_own(controller, path, (int)size))
        return false;
    for (; strlen(path) > top; *strrchr(path, '/') = '\0')
        if (read_number(path, "pids.max", most) && read_number(path, "pids.current", tasks) &&
            *tasks + more > *most)
            return true;
    return false;
}

/* Processes, and one thread per log file. */
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
        /* One directory per thread, besides "." and "..". */
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
