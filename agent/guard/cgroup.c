/* cgroup.c - see cgroup.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fd.h"
#include "runid.h"
#include "xalloc.h"

#define GROUPS_DEEP 32 /* nesting depth */
#define NO_RUN "0" /* for a run whose id cannot be a directory name */
#define MAKE_TRIES 1000 /* a millisecond between them */

static bool name_in(const char *path, char *run_id, size_t size);
static bool any_group(const char *path, int depth, bool (*look)(const char *path));
static bool kill_members(const char *path);
static bool has_members(const char *path);
static bool cannot_remove(const char *path);
static void set_frozen(const char *path, bool frozen);
static bool make_in(struct cgroup *cgroup, const char *controller, const char *run_id);
static bool make_own(struct cgroup *cgroup);
static int  lock(const char *path, int kind);
static bool is_still(const char *path, int fd);
static void wait_a_moment(void);
static bool can_be_joined(struct cgroup *cgroup);
static bool write_in(const char *path, const char *name, const char *text);

bool cgroup_make(struct cgroup *cgroup, const char *run_id)
{
    *cgroup = (struct cgroup){ 0 };
    if (!runid_is(run_id))
        run_id = NO_RUN;
    return make_in(cgroup, "", run_id) || make_in(cgroup, "freezer", run_id);
}

bool cgroup_enter(const struct cgroup *cgroup)
{
    return cgroup->path[0] == '\0' || write_in(cgroup->path, "cgroup.procs", "0");
}

/* To move a process into a group the kernel stops the forks of the whole machine until all CPUs
 * have noticed: milliseconds. A process that begins in the group costs nothing (since 5.7,
 * version 2 only). If that fails, cgroup_enter() reports why. */
pid_t cgroup_fork(struct cgroup *cgroup)
{
    struct clone_args into = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD,
                               .cgroup = (uint64_t)cgroup->lock_fd };
    pid_t             pid = -1;

    if (cgroup->takes_forks)
        pid = (pid_t)syscall(SYS_clone3, &into, sizeof into);
    if (pid >= 0)
        return pid;
    cgroup->takes_forks = false;
    return fork();
}

/* Kernels before 5.14 have no cgroup.kill. On them, freezes the group, which includes the
 * groups below it, so that nothing can fork; kills one process after another; thaws. */
void cgroup_kill(const struct cgroup *cgroup)
{
    if (cgroup->path[0] == '\0' || write_in(cgroup->path, "cgroup.kill", "1"))
        return;
    set_frozen(cgroup->path, true);
    any_group(cgroup->path, GROUPS_DEEP, kill_members);
}

bool cgroup_is_empty(const struct cgroup *cgroup)
{
    return cgroup->path[0] == '\0' || !any_group(cgroup->path, GROUPS_DEEP, has_members);
}

/* The kernel releases the group a moment after its last process was reaped, so retry. */
bool cgroup_remove(struct cgroup *cgroup)
{
    int  tries = 20;
    bool stays;

    if (cgroup->path[0] == '\0')
        return true;
    while ((stays = any_group(cgroup->path, GROUPS_DEEP, cannot_remove)) && errno == EBUSY &&
           --tries > 0)
        wait_a_moment();
    if (cgroup->lock_fd > 0)
        close(cgroup->lock_fd);
    cgroup->lock_fd = 0;
    cgroup->path[0] = '\0';
    return !stays;
}

bool cgroup_run_of(pid_t pid, char *run_id, size_t size)
{
    static const char *const controllers[] = { "", "freezer" };
    char                     file[64], text[4096], lines[sizeof text];
    char                    *path;
    size_t                   i;

    snprintf(file, sizeof file, "/proc/%d/cgroup", (int)pid);
    fd_read_file(file, text, sizeof text);
    for (i = 0; i < sizeof controllers / sizeof *controllers; i++) {
        memcpy(lines, text, sizeof lines);
        path = cgroup_path_in(lines, controllers[i]);
        if (path != NULL && name_in(path, run_id, size))
            return true;
    }
    return false;
}

pid_t cgroup_maker(const char *name)
{
    const char *dash = memrchr(name, '-', strcspn(name, "/"));

    return dash != NULL ? (pid_t)strtol(dash + 1, NULL, 10) : 0;
}

int cgroup_hold_unused(const char *path, bool alone)
{
    return lock(path, alone ? LOCK_EX : LOCK_SH);
}

bool cgroup_own(const char *controller, char *path, int size)
{
    bool        is_unified = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
    const char *top = controller[0] != '\0' ? controller : is_unified ? "" : "unified";
    const char *slash = top[0] != '\0' ? "/" : "";
    char        text[4096], *inside, *below;

    if (fd_read_file("/proc/self/cgroup", text, sizeof text) <= 0)
        return false;
    inside = cgroup_path_in(text, controller);
    if (inside == NULL)
        return false;
    /* A container may see its own group at the top, but read the path that
     * the group has outside. */
    for (below = inside; below != NULL; below = *below != '\0' ? strchrnul(below + 1, '/') : NULL) {
        snprintf(path, (size_t)size, "/sys/fs/cgroup%s%s%s", slash, top,
                 below[0] != '\0' ? below : "/");
        if (access(path, F_OK) == 0)
            return true;
    }
    snprintf(path, (size_t)size, "/sys/fs/cgroup%s%s%s", slash, top, inside);
    return true;
}

/* The part after the second colon of "4:cpu,memory:/a/b" or "0::/a/b". */
char *cgroup_path_in(char *text, const char *controller)
{
    char *line, *next, *names, *path, *name, *rest;

    for (line = text; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        names = strchr(line, ':');
        path = names != NULL ? strchr(names + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        names++;
        if (controller[0] == '\0' && names[0] == '\0')
            return path;
        for (name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
            if (strcmp(name, controller) == 0)
                return path;
    }
    return NULL;
}

/* Finds the id in ".../muster-20261120-073000-a1b2-4711/...". */
static bool name_in(const char *path, char *run_id, size_t size)
{
    while ((path = strchr(path, '/')) != NULL)
        if (cgroup_name(++path, run_id, size))
            return true;
    return false;
}

bool cgroup_name(const char *name, char *run_id, size_t size)
{
    const char *end = strchrnul(name, '/'), *dash = memrchr(name, '-', (size_t)(end - name));
    size_t      length, prefix = strlen(CGROUP_PREFIX);

    if (strncmp(name, CGROUP_PREFIX, prefix) != 0 || dash < name + prefix || dash + 1 == end ||
        dash + 1 + strspn(dash + 1, "0123456789") != end)
        return false;
    length = (size_t)(dash - name) - prefix;
    if (length >= size)
        return false;
    snprintf(run_id, size, "%.*s", (int)length, name + prefix);
    return runid_is(run_id) || strcmp(run_id, NO_RUN) == 0;
}

/* Calls look for all groups below path, which the ranks may have made, and finally for path,
 * until one call returns true. */
static bool any_group(const char *path, int depth, bool (*look)(const char *path))
{
    DIR           *dir = depth > 0 ? opendir(path) : NULL;
    struct dirent *entry;
    bool           found = false;
    char          *below;

    while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0)
            continue;
        below = xasprintf("%s/%s", path, entry->d_name);
        found = any_group(below, depth - 1, look);
        free(below);
    }
    if (dir != NULL)
        closedir(dir);
    return found || look(path);
}

static bool kill_members(const char *path)
{
    char *name = xasprintf("%s/cgroup.procs", path), line[32];
    FILE *procs = fopen(name, "re");
    int   pid;

    while (procs != NULL && fgets(line, sizeof line, procs) != NULL) {
        pid = (int)strtol(line, NULL, 10);
        if (pid > 1)
            kill(pid, SIGKILL);
    }
    if (procs != NULL)
        fclose(procs);
    free(name);
    set_frozen(path, false); /* the rank may have frozen it too */
    return false;
}

/* Counts threads, in version 2 or 1: cgroup.procs leaves out a process whose threads are all
 * about to exit, but those keep the group alive. If the list cannot be read, there may be
 * threads; but not if the group is gone. */
static bool has_members(const char *path)
{
    static const char *const lists[] = { "cgroup.threads", "tasks" };
    char                    *name, text[16];
    ssize_t                  size = -1;
    int                      why = ENOENT;
    size_t                   i;

    for (i = 0; i < sizeof lists / sizeof *lists && size < 0 && why == ENOENT; i++) {
        name = xasprintf("%s/%s", path, lists[i]);
        size = fd_read_file(name, text, sizeof text);
        why = errno;
        free(name);
    }
    return size > 0 || (size < 0 && why != ENOENT && why != ENODEV);
}

static bool cannot_remove(const char *path)
{
    return rmdir(path) < 0 && errno != ENOENT;
}

/* Works for versions 1 and 2. */
static void set_frozen(const char *path, bool frozen)
{
    if (!write_in(path, "freezer.state", frozen ? "FROZEN" : "THAWED"))
        write_in(path, "cgroup.freeze", frozen ? "1" : "0");
}

static bool make_in(struct cgroup *cgroup, const char *controller, const char *run_id)
{
    char own[400];

    if (!cgroup_own(controller, own, sizeof own))
        return false;
    snprintf(cgroup->path, sizeof cgroup->path, "%s%s" CGROUP_PREFIX "%s-%d", own,
             own[strlen(own) - 1] == '/' ? "" : "/", run_id, (int)getpid());
    if (!make_own(cgroup)) {
        cgroup->path[0] = '\0';
        return false;
    }
    cgroup->takes_forks = cgroup->lock_fd > 0;
    if (!can_be_joined(cgroup)) {
        cgroup_remove(cgroup);
        return false;
    }
    return true;
}

/* Until the group is locked, it has no owner: another agent's clean-up may hold it for a
 * moment, and may have removed it. If nothing can be locked here, nothing is removed either. */
static bool make_own(struct cgroup *cgroup)
{
    int tries;

    for (tries = 0; tries < MAKE_TRIES; tries++) {
        if (mkdir(cgroup->path, 0755) < 0 && (errno != EEXIST || tries == 0))
            return false;
        cgroup->lock_fd = lock(cgroup->path, LOCK_EX);
        if (cgroup->lock_fd > 0 || (errno != EWOULDBLOCK && errno != ENOENT))
            return true;
        wait_a_moment();
    }
    rmdir(cgroup->path);
    return false;
}

/* Returns the descriptor; 0 with errno: EWOULDBLOCK if another process holds the group, ENOENT
 * if it is gone, though its name may mean another group by now. A lock means the same in every
 * PID namespace, unlike the pid in the group's name. */
static int lock(const char *path, int kind)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), why;

    if (fd >= 0 && flock(fd, kind | LOCK_NB) == 0 && is_still(path, fd))
        return fd;
    why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return 0;
}

/* Does the path still name the file that was opened? */
static bool is_still(const char *path, int fd)
{
    struct stat named, opened;

    if (stat(path, &named) < 0 || fstat(fd, &opened) < 0)
        return false;
    errno = ENOENT;
    return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

static void wait_a_moment(void)
{
    const struct timespec moment = { .tv_nsec = 1000000 };

    nanosleep(&moment, NULL);
}

/* Some groups can be made but not entered (in a session scope that we own but did not create):
 * such a group is useless. */
static bool can_be_joined(struct cgroup *cgroup)
{
    int   status = 1;
    pid_t pid = cgroup_fork(cgroup);

    if (pid == 0)
        _exit(cgroup->takes_forks || cgroup_enter(cgroup) ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool write_in(const char *path, const char *name, const char *text)
{
    char *file = xasprintf("%s/%s", path, name);
    bool  taken = fd_write_file(file, text);
    int   why = errno;

    free(file);
    errno = why;
    return taken;
}
