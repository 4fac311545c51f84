/* process.c - see process.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fd.h"
#include "frame.h"
#include "xalloc.h"

/* Limit of steps up to an ancestor: parents are read one after another,
 * and may change in between. */
#define DEPTH_MAX 1000
/* Bytes for the list of kernel threads: room for some thousands. */
#define KERNEL_THREADS_BYTES 65536

static void   find_whole_groups(struct processes *all);
static int    compare_pids(const void *pid, const void *other);
static int    compare(const void *pid, const void *process);
static size_t kernel_threads(pid_t **thread);
static void   list(struct processes *all, bool (*wants)(pid_t pid), const pid_t *unwanted,
                   size_t count);
static void   read_once(const char *path, char *text, size_t size);

void processes_below(struct processes *found, pid_t root)
{
    struct processes      all;
    const struct process *parent;
    size_t                i, kept = 0;
    bool                  grown = true;

    processes_all(&all);
    while (grown) {
        grown = false;
        for (i = 0; i < all.count; i++) {
            if (all.item[i].below)
                continue;
            parent = processes_find(&all, all.item[i].parent);
            all.item[i].below = all.item[i].parent == root || (parent != NULL && parent->below);
            grown = grown || all.item[i].below;
        }
    }
    find_whole_groups(&all);
    for (i = 0; i < all.count; i++)
        if (all.item[i].below && all.item[i].state != 'Z')
            all.item[kept++] = all.item[i];
    all.count = kept;
    *found = all;
}

/* Marks processes whose group is entirely below the root. If a process's parent exited before
 * it could be listed, the process may be below, too, so it does not count as outside. */
static void find_whole_groups(struct processes *all)
{
    pid_t *others = xcalloc(all->count + 1, sizeof *others);
    size_t i, count = 0;

    for (i = 0; i < all->count; i++)
        if (!all->item[i].below &&
            (all->item[i].parent == 0 || processes_find(all, all->item[i].parent) != NULL))
            others[count++] = all->item[i].group;
    qsort(others, count, sizeof *others, compare_pids);
    for (i = 0; i < all->count; i++)
        all->item[i].whole = all->item[i].below &&
                             bsearch(&all->item[i].group, others, count, sizeof *others,
                                     compare_pids) == NULL;
    free(others);
}

static int compare_pids(const void *pid, const void *other)
{
    pid_t one = *(const pid_t *)pid, two = *(const pid_t *)other;

    return (one > two) - (one < two);
}

const struct process *processes_find(const struct processes *all, pid_t pid)
{
    return all->count == 0 ? NULL : bsearch(&pid, all->item, all->count, sizeof *all->item,
                                            compare);
}

static int compare(const void *pid, const void *process)
{
    return compare_pids(pid, &((const struct process *)process)->pid);
}

bool process_is_below(pid_t pid, pid_t root)
{
    struct process process;
    int            steps = 0;

    for (; pid > 1 && pid != root && steps < DEPTH_MAX; steps++)
        pid = process_read(pid, &process) ? process.parent : 0;
    return pid == root;
}

void processes_clear(struct processes *found)
{
    free(found->item);
    *found = (struct processes){ 0 };
}

int process_signal(const struct process *process, int signal)
{
    struct process now;
    int            fd = (int)syscall(SYS_pidfd_open, process->pid, 0), error = 0;

    if (fd < 0 && errno == ESRCH)
        return 0;
    /* The descriptor refers to one process: is it still the one that was listed? Old kernels
     * and many containers have no pidfd_open(): there the pid must suffice. */
    if (process_read(process->pid, &now) && now.start == process->start &&
        (fd < 0 || (syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) < 0 && errno != ESRCH)))
        error = kill(process->pid, signal) < 0 && errno != ESRCH ? errno : 0;
    if (fd >= 0)
        close(fd);
    return error;
}

bool process_is_dumping(pid_t pid)
{
    char  path[64], line[64];
    bool  found = false;
    FILE *status;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    status = fopen(path, "re");
    while (status != NULL && !found && fgets(line, sizeof line, status) != NULL)
        found = strcmp(line, "CoreDumping:\t1\n") == 0; /* "Groups:" may be of any length */
    if (status != NULL)
        fclose(status);
    return found;
}

json_t *process_json(pid_t pid)
{
    char   path[64], name[64], wchan[128];
    size_t length;

    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    fd_read_file(path, name, sizeof name);
    length = strcspn(name, "\n");
    snprintf(path, sizeof path, "/proc/%d/wchan", (int)pid);
    fd_read_file(path, wchan, sizeof wchan);
    return json_pack("{s:i, s:o, s:o}", "pid", (int)pid, "name", json_text(name, length),
                     "wchan", json_text(wchan, strlen(wchan)));
}

void processes_all(struct processes *all)
{
    list(all, NULL, NULL, 0);
}

void processes_wanted(struct processes *all, bool (*wants)(pid_t pid))
{
    pid_t *thread;
    size_t threads = kernel_threads(&thread);

    list(all, wants, thread, threads);
    free(thread);
}

/* Lists them in order. Many kernels do not report them; then the list is empty. */
static size_t kernel_threads(pid_t **thread)
{
    char  *text = xmalloc(KERNEL_THREADS_BYTES), *at = text, *end;
    size_t count = 0;
    long   pid;

    fd_read_file("/proc/2/task/2/children", text, KERNEL_THREADS_BYTES);
    *thread = xcalloc(strlen(text) / 2 + 1, sizeof **thread); /* "3 4 5 " */
    while ((pid = strtol(at, &end, 10)) > 0 && *end == ' ') {
        (*thread)[count++] = (pid_t)pid;
        at = end;
    }
    free(text);
    qsort(*thread, count, sizeof **thread, compare_pids);
    return count;
}

/* wants NULL and count 0: all processes are wanted. */
static void list(struct processes *all, bool (*wants)(pid_t pid), const pid_t *unwanted,
                 size_t count)
{
    DIR           *proc = opendir("/proc");
    struct dirent *entry;
    size_t         room = 0;
    struct process one;
    long           pid;
    char          *end;

    *all = (struct processes){ 0 };
    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        pid = strtol(entry->d_name, &end, 10);
        one.pid = (pid_t)pid;
        if (*end != '\0' || pid <= 0 ||
            (count > 0 && bsearch(&one.pid, unwanted, count, sizeof *unwanted, compare_pids)) ||
            (wants != NULL && !wants(one.pid)) || !process_read(one.pid, &one))
            continue;
        if (all->count == room) {
            room = room > 0 ? room * 2 : 256;
            all->item = xreallocarray(all->item, room, sizeof *all->item);
        }
        all->item[all->count++] = one;
    }
    if (proc != NULL)
        closedir(proc);
}

/* Counts fields from the end of the name, which may contain blanks and ')'. */
bool process_read(pid_t pid, struct process *process)
{
    char               path[64], text[1024], *at;
    int                parent, group;
    unsigned long long start, own[2], reaped[2];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    read_once(path, text, sizeof text);
    at = strrchr(text, ')');
    *process = (struct process){ .pid = pid };
    if (at == NULL || sscanf(at, ") %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu"
                                 " %*s %*s %*s %*s %llu",
                             &process->state, &parent, &group, &own[0], &own[1], &reaped[0],
                             &reaped[1],
                             &start) != 8)
        return false;
    process->parent = parent;
    process->group = group;
    process->start = start;
    process->cpu = own[0] + own[1] + reaped[0] + reaped[1];
    return true;
}

/* The kernel produces such a file in one read. No other code here reads as much. */
static void read_once(const char *path, char *text, size_t size)
{
    int     fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;

    text[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
}
