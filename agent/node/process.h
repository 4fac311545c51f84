/* process.h - processes, as /proc shows them
 *
 * Used only to end or to count processes: reading all of /proc is too slow for the normal
 * path.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PROCESS_H
#define MUSTER_AGENT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

struct process {
    pid_t    pid, parent, group;
    uint64_t start; /* ticks since boot: with pid, unique until reboot */
    uint64_t cpu;   /* ticks of CPU time, with those of reaped children */
    char     state; /* 'R', 'S', 'D', 'T', 'Z' ... */
    bool     below; /* descends from the given root */
    bool     whole; /* ... and so does all of its process group */
};

struct processes {
    struct process *item;
    size_t          count;
};

/* All living processes that descend from root; neither root nor zombies. Free with
 * processes_clear(). */
void processes_below(struct processes *found, pid_t root);
/* True for root and its descendants. */
bool process_is_below(pid_t pid, pid_t root);
/* Read one process: false if it does not exist. */
bool process_read(pid_t pid, struct process *process);
/* All processes that this /proc shows, in the order of their pids, as the kernel lists them. */
void processes_all(struct processes *found);
/* Of those only what is wanted, without the kernel's own threads: both are known before anything
 * of a process is read, which takes longest. */
void processes_wanted(struct processes *found, bool (*wants)(pid_t pid));
/* The one with that pid; NULL if it is not in the list. */
const struct process *processes_find(const struct processes *all, pid_t pid);
void processes_clear(struct processes *found);

/* Send a signal to exactly this process, not to a later one with the same pid. */
void process_signal(const struct process *process, int signal);

/* True while the kernel writes its core file: KILL has no effect until that is done. */
bool process_is_dumping(pid_t pid);

/* {"pid":N, "name":"python3", "wchan":"nfs_wait_bit_killable"} */
json_t *process_json(pid_t pid);

/* {"pid":N, "uid":N, "user":"ann", "age_s":N, "command":"python3 train.py"}; NULL if it is
 * gone. process_about.c */
json_t *process_about(const struct process *process);

/* As in process.start, of a moment so many seconds ago; 0 if that was before the boot. */
uint64_t process_ticks_ago(double seconds);

/* Its real user id; false if it is gone. */
bool process_uid(pid_t pid, uid_t *uid);

/* "ann", or "uid 1234". */
void user_name(uid_t uid, char *name, size_t size);

#endif
