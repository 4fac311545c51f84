/* signal_caught.h - sends a signal only to processes that handle it
 *
 * A program without a handler would die of SIGUSR1. /proc/PID/status shows which signals a
 * process handles. In a tree of processes only the topmost ones that handle the signal get it:
 * a shell that waits for Python does not, Python does, and processes that Python has forked
 * inherit the handler but do not get the signal.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SIGNAL_CAUGHT_H
#define MUSTER_AGENT_SIGNAL_CAUGHT_H

#include <stdbool.h>

#include "node/process.h"

/* Reads the text of /proc/PID/status; false also if the text is malformed. */
bool signal_is_caught(const char *status, int signal);

/* Does this process handle the signal? False if it is gone. */
bool signal_process_catches(pid_t pid, int signal);

/* The threads of a process, and what they do with a signal. A thread blocks a signal while it
 * handles it, unless its handler allows another one then (SA_NODEFER). */
struct signal_threads {
    int  all;        /* 0: the process is gone */
    int  blocking;   /* those that block it */
    bool is_pending; /* no thread has taken it yet */
};

void signal_threads_read(struct signal_threads *found, pid_t pid, int signal);

/* Signals root or processes below it. all: from processes_all(). Returns
 * how many got the signal. */
int signal_caught(const struct processes *all, pid_t root, int signal);

/* Returns how many signal_caught() would signal. */
int signal_catchers(const struct processes *all, pid_t root, int signal);

#endif
