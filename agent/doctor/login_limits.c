/* login_limits.c - limits of a login here: descriptors, processes, locked memory, its cgroup
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOFILE_FEW  1024 /* each data loader needs dozens */
#define NPROC_FEW   4096
#define PIDS_FEW    4096
#define MEMLOCK_FEW (1ull << 30)
#define LIMITS_MEND "a higher limit in /etc/security/limits.d/muster.conf, then log in again"

static bool      has_infiniband(const struct checkup *checkup);
static void      cgroup_check(const struct checkup *checkup);
static long long cgroup_limit(const struct checkup *checkup, const char *group, const char *file);

void login_limits_check(const struct checkup *checkup)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < NOFILE_FEW)
        checkup_find(checkup, CHECKUP_WARN,
                     "data loaders and NCCL fail with \"Too many open files\"",
                     "nofile: " LIMITS_MEND, "%llu file descriptors per process",
                     (unsigned long long)limit.rlim_cur);
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur < NPROC_FEW)
        checkup_find(checkup, CHECKUP_WARN, "fork fails with EAGAIN, threads cannot be started",
                     "nproc: " LIMITS_MEND, "%llu processes per user",
                     (unsigned long long)limit.rlim_cur);
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur < MEMLOCK_FEW &&
        has_infiniband(checkup))
        checkup_find(checkup, CHECKUP_FAIL, "NCCL over InfiniBand fails in ibv_reg_mr",
                     "memlock unlimited: " LIMITS_MEND, "%llu KiB of locked memory",
                     (unsigned long long)limit.rlim_cur >> 10);
    cgroup_check(checkup);
}

static bool has_infiniband(const struct checkup *checkup)
{
    char           path[PATH_MAX];
    struct dirent *entry;
    bool           is_there = false;
    DIR           *folder;

    checkup_path(checkup, "/sys/class/infiniband", path);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        is_there |= entry->d_name[0] != '.';
    if (folder != NULL)
        closedir(folder);
    return is_there;
}

/* Finds the lowest limits of the session's group and the groups above it. */
static void cgroup_check(const struct checkup *checkup)
{
    char      text[4096], meminfo[8192], *group, *slash;
    long long memory = -1, pids = -1, total_kb, limit;

    checkup_read(checkup, "/proc/self/cgroup", text, sizeof text);
    checkup_read(checkup, "/proc/meminfo", meminfo, sizeof meminfo);
    total_kb = checkup_number_in(meminfo, "MemTotal");
    group = strstr(text, "0::/");
    if (group == NULL)
        return;
    group += strlen("0::");
    group[strcspn(group, "\n")] = '\0';
    do { /* finally "", which has limits in a container */
        slash = strrchr(group, '/');
        if ((limit = cgroup_limit(checkup, group, "memory.max")) >= 0 &&
            (memory < 0 || limit < memory))
            memory = limit;
        if ((limit = cgroup_limit(checkup, group, "pids.max")) >= 0 && (pids < 0 || limit < pids))
            pids = limit;
        if (slash != NULL)
            *slash = '\0';
    } while (slash != NULL);
    if (memory >= 0 && total_kb > 0 && memory / 1024 < total_kb / 2)
        checkup_find(checkup, CHECKUP_WARN, "ranks are killed by signal 9, and no log says why",
                     "systemctl set-property user-UID.slice MemoryMax=infinity",
                     "the login session may use %lld MiB of the %lld MiB of memory",
                     memory >> 20, total_kb >> 10);
    if (pids >= 0 && pids < PIDS_FEW)
        checkup_find(checkup, CHECKUP_WARN, "fork fails with EAGAIN, threads cannot be started",
                     "systemctl set-property user-UID.slice TasksMax=infinity",
                     "the login session may have %lld processes", pids);
}

/* Returns -1 if there is no limit. */
static long long cgroup_limit(const struct checkup *checkup, const char *group, const char *file)
{
    char path[PATH_MAX], text[64];

    snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", group, file);
    if (checkup_read(checkup, path, text, sizeof text) <= 0 || text[0] < '0' || text[0] > '9')
        return -1;
    return strtoll(text, NULL, 10);
}
