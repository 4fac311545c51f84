/* idle.h - whether the ranks of this node do anything at all
 *
 * They do when one writes output, or when they and their children together use more
 * than a hundredth of a core: the watchdogs and heartbeats of a program that hangs
 * use less. Only asked with --hang-timeout.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_IDLE_H
#define MUSTER_AGENT_IDLE_H

#include <stdint.h>

struct agent;

struct idle {
    int64_t  busy_ns;   /* when something was last seen to happen */
    int64_t  window_ns; /* when the present window began */
    uint64_t cpu, output; /* at that time: ticks, bytes */
};

void idle_begin(struct idle *idle);

/* For how long nothing has happened. Looks at /proc, at most once in a window. */
double idle_seconds(struct idle *idle, const struct agent *agent);

#endif
