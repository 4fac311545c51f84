/* signal_caught.c - see signal_caught.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/signal_caught.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "xalloc.h"

#define STATUS_BYTES 65536 /* "Groups:" may be of any length, and precedes it */
#define DEPTH_MAX    64    /* of a tree of processes */

static bool has_signal(const char *status, const char *key, int signal);
static void read_status(pid_t pid, char status[STATUS_BYTES]);
static int  signal_tree(const struct processes *all, pid_t root, int signal, bool sends);
static int  signal_below(const struct processes *all, const struct process *process, int signal,
                         bool sends, char *status, int depth);

bool signal_is_caught(const char *status, int signal)
{
    return has_signal(status, "\nSigCgt:\t", signal);
}

static bool has_signal(const char *status, const char *key, int signal)
{
    const char *at = strstr(status, key);
    uint64_t    mask;

    if (at == NULL || signal < 1 || signal > 64)
        return false;
    mask = strtoull(at + strlen(key), NULL, 16);
    return (mask >> (signal - 1) & 1) != 0;
}

bool signal_process_catches(pid_t pid, int signal)
{
    char *status = xmalloc(STATUS_BYTES);
    bool  catches;

    read_status(pid, status);
    catches = signal_is_caught(status, signal);
    free(status);
    return catches;
}

void signal_threads_read(struct signal_threads *found, pid_t pid, int signal)
{
    char           path[64], *status = xmalloc(STATUS_BYTES);
    struct dirent *entry;
    DIR           *tasks;

    *found = (struct signal_threads){ 0 };
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        read_status((pid_t)atoi(entry->d_name), status);
        if (status[0] == '\0')
            continue; /* it has ended */
        found->all++;
        found->blocking += has_signal(status, "\nSigBlk:\t", signal);
        found->is_pending = found->is_pending || has_signal(status, "\nSigPnd:\t", signal) ||
                            has_signal(status, "\nShdPnd:\t", signal);
    }
    if (tasks != NULL)
        closedir(tasks);
    free(status);
}

int signal_caught(const struct processes *all, pid_t root, int signal)
{
    return signal_tree(all, root, signal, true);
}

int signal_catchers(const struct processes *all, pid_t root, int signal)
{
    return signal_tree(all, root, signal, false);
}

static int signal_tree(const struct processes *all, pid_t root, int signal, bool sends)
{
    const struct process *process = processes_find(all, root);
    char                 *status;
    int                   count;

    if (process == NULL)
        return 0;
    status = xmalloc(STATUS_BYTES);
    count = signal_below(all, process, signal, sends, status, 0);
    free(status);
    return count;
}

static int signal_below(const struct processes *all, const struct process *process, int signal,
                        bool sends, char *status, int depth)
{
    int    count = 0;
    size_t i;

    read_status(process->pid, status);
    if (signal_is_caught(status, signal)) {
        if (sends)
            process_signal(process, signal);
        return 1;
    }
    for (i = 0; i < all->count && depth < DEPTH_MAX; i++)
        if (all->item[i].parent == process->pid)
            count += signal_below(all, &all->item[i], signal, sends, status, depth + 1);
    return count;
}

static void read_status(pid_t pid, char status[STATUS_BYTES])
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    fd_read_file(path, status, STATUS_BYTES);
}
