/* containment.h - make sure that no process survives its run
 *
 * The strongest of these that the node allows, chosen when the guard is made:
 *
 *     pidns      the guard is process 1 of its own PID namespace; when it dies,
 *                for whatever reason, the kernel kills everything in it. As
 *                root directly, else inside a user namespace.
 *     cgroup     without pidns: one write kills all.
 *     subreaper  without pidns: a process that loses its parent becomes the
 *                guard's child, so walking down from the guard finds all.
 *
 * With pidns or subreaper nothing is left when wait() says "no child"; with the cgroup
 * alone, when no process is in it.
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

/* Fork the guard, inside a namespace if use_pidns is set and the node allows it. Returns in
 * both processes like fork(), with contain filled; -1 with errno. The caller must have one
 * thread. */
pid_t containment_fork(struct containment *contain, bool use_pidns);

/* In a guard without a namespace: become the subreaper, and make the control group, which
 * has the run's id in its name. */
void containment_reap_here(struct containment *contain, const char *run_id);

/* "userns+pidns+lease", for people. */
void containment_words(const struct containment *contain, char *words, size_t size);

/* To every process of the run, that is everything below root (the caller). */
void containment_signal(const struct containment *contain, pid_t root, int signal);
void containment_kill(const struct containment *contain, pid_t root);

/* KILL to everything below exactly this process, without a namespace or control group. */
void containment_kill_below(const struct process *root);

/* How many there are. */
int containment_count(const struct containment *contain, pid_t root);

#endif
