/* cluster.h - simulates a run on the cluster of a trace, with muster's policy
 *
 * It does with numbers what launcher/run does with processes: it passes events to policy.h and
 * members.h, and executes their decisions. Times are seconds of a virtual clock from the start.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SIM_CLUSTER_H
#define MUSTER_SIM_CLUSTER_H

#include "elastic/policy.h"
#include "sim/trace.h"

/* The training, and how long its steps take. */
struct job {
    int    nodes;     /* at the start */
    int    slots;     /* ranks per node */
    double work;      /* hours of one node until the training is done; 0: never */
    double every_s;   /* between two checkpoints */
    double saving_s;  /* one checkpoint */
    double loading_s; /* from the first instruction until the first step */
    double start_s;   /* from the decision to the first instruction */
    double stop_s;    /* from the first failure until all processes are gone */
    double detect_s;  /* until a silent node counts as lost */
    double join_s;    /* to connect a node and to check it */
    int    code;      /* of a rank that fails */
};

/* All values but status and counts are hours. */
struct result {
    int    status;      /* muster's exit status; -1: the trace is over */
    int    generations;
    double wall;
    double useful;      /* of one node: work done and kept */
    double lost;        /* of one node: work done again */
    double starting, saving, stopping, waiting; /* of the run */
    double paid;        /* of one node: connected */
    char   wrong[200];  /* an invariant that did not hold; empty: all held */
};

void cluster_run(const struct trace *trace, const struct job *job,
                 const struct policy_rules *rules, struct result *result);

#endif
