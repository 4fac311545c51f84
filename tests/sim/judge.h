/* judge.h - what a simulated run must keep, whatever happens to its hosts
 *
 * The first violation is noted in the cluster's result, and ends the run.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SIM_JUDGE_H
#define MUSTER_SIM_JUDGE_H

#include "sim/cluster.h"

/* A generation must have ended on hosts that had to leave. */
void judge_hosts(struct cluster *cluster);
/* The world that begins now is allowed, and may have these hosts. */
void judge_world(struct cluster *cluster, const size_t *world, size_t places);
/* The policy lets the world grow. */
void judge_growth(struct cluster *cluster);
/* The run ends. */
void judge_end(struct cluster *cluster, enum policy_why why);
/* Returns the exit status, as documented for muster. */
int judge_status(const struct cluster *cluster, enum policy_why why);

void judge_wrong(struct cluster *cluster, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
