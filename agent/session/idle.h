/* idle.h - is any rank of this node doing something?
 *
 * A rank is busy if it writes output, or if it and its children use more than a hundredth
 * of a core: watchdogs and heartbeats of a program that hangs use less. Only used with
 * --hang-timeout.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_IDLE_H
#define MUSTER_AGENT_IDLE_H

#include <stdint.h>

struct agent;

struct idle {
    int64_t  busy_ns;   /* when a rank was last seen busy */
    int64_t  window_ns; /* when the current window began; cpu and output are the totals at
                           that time: ticks, bytes */
    uint64_t cpu, output;
};

void idle_begin(struct idle *idle);

/* Returns the seconds since a rank was busy. Reads /proc at most once per window. */
double idle_seconds(struct idle *idle, const struct agent *agent);

#endif
