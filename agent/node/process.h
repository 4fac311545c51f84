/* process.h - processes, as /proc shows them
 *
 * Used only to kill or to count processes: reading all of /proc is too
 * slow for the normal path.
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
    uint64_t cpu;   /* ticks of CPU time, including reaped children */
    char     state; /* 'R', 'S', 'D', 'T', 'Z' ... */
    bool     below; /* descends from the given root */
    bool     whole; /* ... and so do all processes of its group */
};

struct processes {
    struct process *item;
    size_t          count;
};

/* Lists all living processes that descend from root, without root and without zombies.
 * Free with processes_clear(). */
void processes_below(struct processes *found, pid_t root);
/* True for root and its descendants. */
bool process_is_below(pid_t pid, pid_t root);
/* Reads one process: false if it does not exist. */
bool process_read(pid_t pid, struct process *process);
/* Lists all processes that this /proc shows, in the order of their pids,
 * as the kernel lists them. */
void processes_all(struct processes *found);
/* Lists only those that wants() accepts, without the kernel's own threads: both are known
 * before /proc is read for a process, which takes longest. */
void processes_wanted(struct processes *found, bool (*wants)(pid_t pid));
/* Finds the process with that pid; NULL if it is not in the list. */
const struct process *processes_find(const struct processes *all, pid_t pid);
void processes_clear(struct processes *found);

/* Signals exactly this process, not a later one with the same pid. Returns 0, also if it is
 * gone, or an error number such as EPERM. */
int process_signal(const struct process *process, int signal);

/* True while the kernel writes the process's core file: it handles KILL only after that. */
bool process_is_dumping(pid_t pid);

/* Returns {"pid":N, "name":"python3", "wchan":"nfs_wait_bit_killable"}. */
json_t *process_json(pid_t pid);

/* Returns {"pid":N, "uid":N, "user":"ann", "age_s":N, "command":"python3 train.py"}; NULL if
 * the process is gone. process_about.c */
json_t *process_about(const struct process *process);

/* Returns the time this many seconds ago in the unit of process.start; 0 if
 * that was before the boot. */
uint64_t process_ticks_ago(double seconds);

/* Finds the process's real user id; false if the process is gone. */
bool process_uid(pid_t pid, uid_t *uid);

/* Writes "ann", or "uid 1234". */
void user_name(uid_t uid, char *name, size_t size);
/* The inverse: false if this node's /etc/passwd has no such user. */
bool user_find(const char *name, uid_t *uid);
/* Returns the user who has logged in. That is also who called sudo, if we are root by it. */
uid_t user_login(void);

#endif
