/* containment.h - makes sure that no process survives its run
 *
 * The guard uses the strongest of these that the node allows, chosen when it starts:
 *
 *     pidns      the guard is process 1 of its own PID namespace; when it dies,
 *                for whatever reason, the kernel kills everything in it. As
 *                root directly, else inside a user namespace.
 *     cgroup     without pidns: one write kills all.
 *     subreaper  without pidns: a process that loses its parent becomes the
 *                guard's child, so walking down from the guard finds all.
 *
 * With pidns or subreaper no process is left when wait() says "no child"; with the cgroup
 * alone, when it contains no process.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CONTAINMENT_H
#define MUSTER_AGENT_CONTAINMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "guard/cgroup.h"
#include "node/process.h"

struct containment {
    bool          userns, pidns, subreaper;
    bool          inside; /* this process is process 1 of the namespace */
    struct cgroup cgroup;
};

/* Forks the guard, inside a namespace if use_pidns is set and the node allows it.
 * Returns in both processes like fork(), with contain filled; -1 with errno. The
 * caller must have one thread. */
pid_t containment_fork(struct containment *contain, bool use_pidns);

/* In a guard without a namespace: becomes the subreaper, and makes the control group, which has
 * the run's id in its name. */
void containment_reap_here(struct containment *contain, const char *run_id);

/* Writes text for people: "userns+pidns+lease". */
void containment_words(const struct containment *contain, char *words, size_t size);

/* Signals every process of the run, that is every process below root (the caller). */
void containment_signal(const struct containment *contain, pid_t root, int signal);
void containment_kill(const struct containment *contain, pid_t root);

/* Sends KILL to every process below exactly this one, without a namespace or control group. */
void containment_kill_below(const struct process *root);

/* Counts the processes below root. */
int containment_count(const struct containment *contain, pid_t root);

#endif
