/* containment.h - how it is made sure that no process of the run survives
 *
 * The strongest of these that the node allows, chosen when the guard is made:
 *
 *   pidns      the guard is PID 1 of a PID namespace of its own; when it dies,
 *              for whatever reason, the kernel kills everything in it. As
 *              root directly, else inside a user namespace.
 *   cgroup     where there is no pidns: one write kills all.
 *   subreaper  where there is no pidns: whatever loses its parent becomes the
 *              guard's child, so all can be found by walking down from it.
 *
 * With pidns or subreaper, wait() saying "no child" means that nothing is left; with the
 * cgroup alone, that no process is in it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CONTAINMENT_H
#define MUSTER_AGENT_CONTAINMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "guard/cgroup.h"

struct containment {
    bool          userns, pidns, subreaper;
    bool          inside; /* this process is PID 1 of the namespace */
    struct cgroup cgroup;
};

/* Fork the guard, inside a namespace when use_pidns and where it can be had.
 * Returns in both processes like fork(), with contain filled; -1 with errno.
 * The caller has one thread. */
pid_t containment_fork(struct containment *contain, bool use_pidns);

/* In the guard when it has no namespace: become the subreaper, make the
 * cgroup, which has the run in its name. */
void containment_reap_here(struct containment *contain, const char *run_id);

/* "userns+pidns+lease", for people. */
void containment_words(const struct containment *contain, char *words, size_t size);

/* To every process of the run, that is everything below root: the caller. */
void containment_signal(const struct containment *contain, pid_t root, int signal);
void containment_kill(const struct containment *contain, pid_t root);

/* How many there are. */
int containment_count(const struct containment *contain, pid_t root);

#endif
