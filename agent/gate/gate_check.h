/* gate_check.h - one check of a gate: what gate.c asks of storage.c, ports.c, gpus.c and
 * program.c
 *
 * The task writes what it finds, as objects, in a child. What they hold together is what
 * judge() gets, in the agent; it is pure.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GATE_CHECK_H
#define MUSTER_AGENT_GATE_CHECK_H

#include <stdbool.h>

#include <jansson.h>

#include "plan/node_plan.h"
#include "plan/prepare.h"
#include "task/task.h"

enum gate_verdict {
    GATE_WELL,
    GATE_RATHER, /* look again: it may get better, and at the deadline it is well */
    GATE_WAIT,   /* look again: it must get better, and at the deadline it is bad */
    GATE_BAD,
};

/* What the node was like at its first gate. NULL: that is not known. */
struct gate_memory {
    json_t *ports;   /* {"mlx5_0/1":"4: ACTIVE"}, only ports.c writes it */
    json_t *gpus;    /* [{"used":N, "links":MASK}, {"error":"text"}], only gpus.c writes it */
    json_t *holders; /* gate.c */
};

struct gate_check {
    /* In a child; within limit_s, or it reports by limit_s + round_s that its own work takes
     * longer. */
    struct task_row task;
    double          limit_s, round_s;
    /* Returns what run() must know, and NULL if there is nothing to check. Does not block. */
    json_t *(*request)(const struct node_plan *plan, const struct gate_memory *memory);
    /* Fills failure if it returns GATE_WAIT or GATE_BAD. */
    enum gate_verdict (*judge)(const json_t *request, const json_t *found,
                               struct gate_memory *memory, struct failure *failure);
    /* The task has not ended in time: after so many seconds. */
    void (*late)(const json_t *found, double seconds, struct failure *failure);
};

/* Returns that limit, or another one for tests (test_switch.h). */
double gate_limit_s(double usual_s);

extern const struct gate_check storage_check, ports_check, gpus_check, program_check;

/* Can a file system hang that this line of mountinfo (proc(5)) mounts: one of another machine,
 * or of a process? True if the line is malformed. */
bool storage_may_hang(const char *line);

/* Returns the states of all InfiniBand ports below root: {"mlx5_0/1":"4: ACTIVE"}. */
json_t *ports_read(const char *root);

#endif
