/* oom.h - evidence that the kernel's OOM killer killed a rank
 *
 * A rank that gets SIGKILL cannot report why. When memory runs out, the kernel counts the
 * processes that it kills, per cgroup (version 1 or 2) or for the machine. A count that
 * increased during the run is the evidence.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OOM_H
#define MUSTER_AGENT_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory {
    char    cgroup[512]; /* directory; "": the whole machine */
    bool    is_v1;
    int64_t kills;       /* the count when the run began; -1: unknown */
};

void oom_begin(struct memory *memory);

/* Writes text like "oom_kill 0→1, limit 64 MiB". False if there is no evidence. */
bool oom_evidence(struct memory *memory, char *text, size_t size);

#endif
